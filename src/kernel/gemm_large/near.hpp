// Default configs of large GEMM that problems of about one size share: finding one takes as long as the part
// of a product that runs while its neighbours are moved. Configs found for the problem itself are
// choice.cpp's.
#pragma once

#include <string>

#include "core/bounded_map.hpp"
#include "kernel/gemm_large/gemm_large.hpp"

namespace tilewright {

class GemmLargeNear {
 public:
  // The default of the first problem asked about within a quarter of an octave in each size, where it is
  // legal here; else this problem's own. May be called by many threads at once.
  GemmLargeConfig find(const GemmProblem& problem, const GemmLargeShape& shape,
                       const GemmLargeDevice& device);

 private:
  BoundedMap<std::string, GemmLargeConfig> known_{4096};
};

}  // namespace tilewright
