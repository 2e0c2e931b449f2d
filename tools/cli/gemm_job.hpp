// The job of the verb gemm: reads arrays from files, writes their product to a file, and reports the time. It
// opens, arranges, plans, reads, multiplies, verifies and writes, in this order, so that every refusal comes
// before the first byte is written.
#pragma once

#include <complex>
#include <optional>
#include <string>
#include <vector>

#include "bench/hybrid_bound.hpp"
#include "core/json.hpp"
#include "gemm_verify.hpp"
#include "tilewright/gemm.hpp"

namespace tilewright::cli {

struct GemmRequest {
  std::string a, b, c0, output;  // files; c0 "": none
  Op op_a = Op::none;
  Op op_b = Op::none;
  std::complex<double> alpha = 1;
  std::complex<double> beta = 0;
  GemmOptions options;
  bool verify = false;
};

struct GemmReport {
  GemmProblem problem;             // residency resolved
  std::optional<GemmPlan> plan;    // empty if C has no elements
  std::vector<std::string> notes;  // how the arrays were arranged
  int threads = 1;
  double read_s = 0;  // opening, mapping, copies that the arrangement needs, C0
  double kernel_s = 0;
  double write_s = 0;  // creating, giving pages to and naming the output
  double total_s = 0;  // without verification
  double verify_s = 0;
  std::optional<VerifyResult> verification;
  nlohmann::json observed;                         // energy, clock and temperature during the multiplication
  nlohmann::json last_run;                         // parts of the computation, if CPU and GPUs shared it
  std::optional<bench::HybridBound> hybrid_bound;  // if GPUs took part
};

// The output appears only if the whole job succeeds; a failed verification leaves it unwritten and is
// reported.
GemmReport run_gemm(const GemmRequest& request);

}  // namespace tilewright::cli
