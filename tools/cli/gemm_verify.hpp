// gemm's --verify compares C against sums in a wider type, element by element, on all problems or on a stated
// random sample. It reads the arrays by their own strides and so checks the arrangement of operands as well
// as the kernel.
#pragma once

#include <complex>
#include <string>

#include "arrays/gemm_arrays.hpp"

namespace tilewright::cli {

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

}  // namespace tilewright::cli
