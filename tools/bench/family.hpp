// A family of `bench` measures and reports its cases on any machine. The caller shows the progress, prints
// the lines and writes the rows.
#pragma once

#include <memory>
#include <optional>

#include "bench/case.hpp"

namespace tilewright::bench {

struct CaseOutput {
  std::vector<std::string> lines;    // for people
  std::vector<nlohmann::json> rows;  // for scripts
  std::optional<double> seconds{};   // time of tilewright, if the case is one multiplication
  // The reason why the whole job fails once all cases are done; "" if it succeeds.
  std::string failure{};
};

class Family {
 public:
  virtual ~Family() = default;
  // Describes the machine and begins the table.
  virtual std::vector<std::string> head() = 0;
  virtual CaseOutput measure(const Case& c) = 0;
  // Called after the last case.
  virtual CaseOutput finish() { return {}; }
};

// The plan must outlive its family. Error(unsupported) is thrown if the cases lie on a GPU and there is none.

// Compares tilewright with the peers, including the vendor's library, and the loops that bound them.
std::unique_ptr<Family> gemm_family(const Plan& plan);
// Measures conversions between batch layouts, and how often a batch must be reused before converting pays.
std::unique_ptr<Family> layout_family(const Plan& plan);
// Measures the cost of a multiplication besides multiplying.
std::unique_ptr<Family> overhead_family(const Plan& plan);
// Products of host operands on CPU and GPUs, by each method of sharing them, or by the requested ones.
std::vector<std::string> hybrid_variants();
std::unique_ptr<Family> hybrid_family(const Plan& plan);
// Measures memory for a batch, one block per matrix against one block for all, and moving it to a GPU and
// back.
std::unique_ptr<Family> transfer_family(const Plan& plan);

}  // namespace tilewright::bench
