// The job of the verb gemm: reads arrays from files, writes their product to a file, and reports the time. It
// opens, arranges, plans, reads, multiplies, verifies and writes, in this order, so that every refusal comes
// before the first byte is written.
#pragma once

#include <complex>
#include <optional>
#include <string>
#include <vector>

#include "arrays/gemm_arrays.hpp"
#include "bench/bounds.hpp"
#include "core/json.hpp"
#include "tilewright/gemm.hpp"

namespace tilewright::cli {

// gemm's --verify compares C against sums in a wider type, element by element, on all problems or on a stated
// random sample. It reads the arrays by their own strides and so checks the arrangement of operands as well
// as the kernel.
struct VerifyInput {
  DType dtype = DType::f64;
  Op op_a = Op::none;
  Op op_b = Op::none;
  std::complex<double> alpha = 1;
  std::complex<double> beta = 0;
  const void* a = nullptr;
  ArrayShape a_shape;
  const void* b = nullptr;
  ArrayShape b_shape;
  const void* c0 = nullptr;  // null if beta is 0
  ArrayShape c0_shape;
  const void* c = nullptr;
  ArrayShape c_shape;
  int threads = 1;
  double flop_limit = 1.5e9;  // more work than this is sampled; about a second of the reference on two cores
};

struct VerifyResult {
  bool passed = true;
  double error = 0;             // of the worst element, which has the largest error / error_bound
  double error_bound = 0;       // of that element
  std::int64_t not_finite = 0;  // elements that are NaN or infinite, as they must be
  std::int64_t unbounded = 0;   // elements without a bound, because sums of their size overflow
  std::string where;            // "C[12, 3, 4] = 1.5, reference 1.5000001"
  std::string scope;            // "all 1000 problems", "a random 20 of 1000 problems", ...
};

VerifyResult verify(const VerifyInput& input);

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
  double read_s = 0;        // opening, mapping, copies that the arrangement needs, C0
  double setup_s = 0;       // before it: the plans, with the libraries and kernels that they need
  std::int64_t pieces = 1;  // that the product was cut into, all with plans alike
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
