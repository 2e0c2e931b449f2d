// The main job: arrays in files in, their product in a file out, and what it took. It opens, arranges, plans,
// reads, multiplies, verifies and writes, in this order, so that every refusal comes before the first byte is
// written.
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
  std::string a, b, c0, output;  // files; c0 "" = none
  Op op_a = Op::none;
  Op op_b = Op::none;
  std::complex<double> alpha = 1;
  std::complex<double> beta = 0;
  GemmOptions options;
  bool verify = false;
};

struct GemmReport {
  GemmProblem problem;             // residency resolved
  std::optional<GemmPlan> plan;    // empty when C has no elements
  std::vector<std::string> notes;  // how the arrays were arranged
  int threads = 1;
  double read_s = 0;  // opening, mapping, copies that the arrangement needs, C0
  double kernel_s = 0;
  double write_s = 0;  // creating, giving pages to and naming the output
  double total_s = 0;  // without verification
  double verify_s = 0;
  std::optional<VerifyResult> verification;
  nlohmann::json observed;                         // energy, clock and temperature while it multiplied
  nlohmann::json last_run;                         // who computed what, where CPU and GPUs shared it
  std::optional<bench::HybridBound> hybrid_bound;  // where GPUs took part
};

// The output appears only when all went well; a failed verification leaves it unwritten and is told in the
// report.
GemmReport run_gemm(const GemmRequest& request);

}  // namespace tilewright::cli
