// Products by a CBLAS: for the candidate of that name and for the CPU's part of a product that GPUs share.
#pragma once

#include <cstdint>

#include "core/problem.hpp"
#include "device/cblas.hpp"
#include "gemm/parallel.hpp"

namespace tilewright {

// Problems first ... first + count - 1, one call each by so many of the library's threads (0: as it likes);
// alpha = 0 leaves C scaled.
void multiply_by_cblas(const CblasLibrary& library, const GemmProblem& problem, const Operands& operands,
                       std::int64_t first, std::int64_t count, int threads);

// The threads of the library that a call gets which may have so many; 0: as many as the library likes.
inline int cblas_threads(int asked) {
  const int allowed = allowed_threads(asked);
  return asked > 0 || allowed == 1 ? allowed : 0;
}

// Why the library cannot be called for it; "" where it can.
std::string why_not_by_cblas(const CblasLibrary& library, const GemmProblem& problem);

}  // namespace tilewright
