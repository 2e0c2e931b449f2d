// Default configs of large GEMM that problems of about one size share: each config more is a kernel to
// compile, and a factorization multiplies matrices of ever new sizes. Configs found for the problem itself
// are choice.cpp's.
#pragma once

#include <string>

#include "core/bounded_map.hpp"
#include "kernel/gemm_large/gemm_large.hpp"

namespace tilewright {

class GemmLargeNear {
 public:
  // The default of the first problem asked about in the same quarter of an octave of each size, where it is
  // legal here; else this problem's own. May be called by many threads at once.
  GemmLargeConfig find(const GemmProblem& problem, const GemmLargeShape& shape,
                       const GemmLargeDevice& device);

 private:
  BoundedMap<std::string, GemmLargeConfig> known_{4096};
};

}  // namespace tilewright
