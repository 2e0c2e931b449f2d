// A family of `bench`: what it makes of one case, whatever machine that is on. Whoever runs the cases shows
// how far he is, prints the lines and writes the rows.
#pragma once

#include <memory>
#include <optional>

#include "bench/case.hpp"

namespace tilewright::bench {

struct Told {
  std::vector<std::string> lines;    // for people
  std::vector<nlohmann::json> rows;  // for scripts
  std::optional<double> seconds{};   // of ours, where the case is one multiplication
  std::string failure{};             // why the whole job fails, once all cases are done; "" = it does not
};

class Family {
 public:
  virtual ~Family() = default;
  // What is measured on, and the head of the table.
  virtual std::vector<std::string> head() = 0;
  virtual Told measure(const Case& c) = 0;
  // After the last case.
  virtual Told finish() { return {}; }
};

// The plan must outlive it. Throws Error(unsupported) where the cases lie on a GPU and there is none.
std::unique_ptr<Family> make_family(const Plan& plan);

// Ours beside the peers, the vendor's library among them, and the loops that bound them.
std::unique_ptr<Family> gemm_family(const Plan& plan);
// Conversions between batch layouts, and how often a batch must be reused before converting pays.
std::unique_ptr<Family> layout_family(const Plan& plan);
// What a multiplication costs besides multiplying.
std::unique_ptr<Family> overhead_family(const Plan& plan);
// Products of host operands on CPU and GPUs, by each way of sharing them out, or those that were asked for.
std::vector<std::string> hybrid_ways();
std::unique_ptr<Family> hybrid_family(const Plan& plan);
// Factorizations of matrices in host memory, by the CPU, GPUs or both, in panels and shares as plan.lu tries.
std::vector<std::string> lu_ways();
std::vector<std::string> lu_peer_names();
std::unique_ptr<Family> lu_family(const Plan& plan);
// Memory for a batch, one block per matrix against one block for all, and moving it to a GPU and back.
std::unique_ptr<Family> transfer_family(const Plan& plan);

}  // namespace tilewright::bench
