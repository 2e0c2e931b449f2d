// LAPACK's residual ratios of the solutions of a batch of linear systems, in a wider type, of all problems or
// a sample.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>

#include "tilewright/types.hpp"

namespace tilewright {

struct SystemVerifyInput {
  // A batch of matrices; the strides of (problem, row, column) count elements.
  struct Matrices {
    const void* data = nullptr;
    std::array<std::int64_t, 3> strides{};
  };

  DType dtype = DType::f64;
  std::int64_t count = 0, n = 0, nrhs = 0;
  Matrices a, b, x;
  bool is_hermitian = false;  // A's triangle `uplo` stands for the other one too
  Uplo uplo = Uplo::lower;
  std::span<const int> infos{};  // problems with one have no solution; empty: all have
  int threads = 1;
  double flop_limit = 1.5e9;
};

struct SystemVerifyResult {
  double ratio = 0;           // ||A X - B|| / (||A|| ||X|| eps) in the 1-norm, of the worst column
  std::int64_t problem = -1;  // the one with that column
  std::string scope;          // "all problems", "20 of 5000 problems"

  static constexpr double bound = 30;            // LAPACK's own threshold
  bool passed() const { return ratio < bound; }  // false for NaN
};

SystemVerifyResult verify_systems(const SystemVerifyInput& input);

}  // namespace tilewright
