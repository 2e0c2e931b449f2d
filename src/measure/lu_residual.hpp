// LAPACK's residual ratios of factorizations and solutions, in a wider type, over all columns or a sample.
#pragma once

#include <cstdint>
#include <string>

#include "tilewright/types.hpp"

namespace tilewright {

// Column-major; the last of `a` and `lu` have the same shape.
struct LuVerifyInput {
  DType dtype = DType::f64;
  std::int64_t m = 0, n = 0;
  const void* a = nullptr;  // before the factorization
  const void* lu = nullptr;
  const std::int64_t* pivots = nullptr;
  std::int64_t nrhs = 0;    // 0: nothing was solved
  const void* b = nullptr;  // n x nrhs
  const void* x = nullptr;
  int threads = 1;
  double flop_limit = 1.5e9;
};

struct LuVerifyResult {
  double ratio = 0;        // ||L U - P A|| / (||A|| n eps) in the 1-norm, over the checked columns
  double solve_ratio = 0;  // ||A X - B|| / (||A|| ||X|| eps) of the worst column
  std::string scope;       // "all columns", "20 of 5000 columns"

  static constexpr double bound = 30;                                   // LAPACK's own threshold
  bool passed() const { return ratio < bound && solve_ratio < bound; }  // false for NaN
};

LuVerifyResult verify_lu(const LuVerifyInput& input);

}  // namespace tilewright
