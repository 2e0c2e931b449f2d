// Default configs of large GEMM shared by problems of similar size: each further config is a kernel to
// compile, and a factorization multiplies matrices of ever new sizes. choice.cpp finds configs for the
// problem itself.
#pragma once

#include <string>

#include "core/bounded_map.hpp"
#include "kernel/gemm_large/gemm_large.hpp"

namespace tilewright {

class GemmLargeNear {
 public:
  // Returns the default of the first problem looked up in the same quarter of an octave of each size if it is
  // legal here; otherwise this problem's own. May be called by many threads at once.
  GemmLargeConfig find(const GemmProblem& problem, const GemmLargeShape& shape,
                       const GemmLargeDevice& device);

 private:
  BoundedMap<std::string, GemmLargeConfig> known_{4096};
};

}  // namespace tilewright
