// The sizes of a variable batch that is tuned for: any from 1 to the largest, drawn alike in every run, in
// device memory. Matrices lie as those of a pointer batch of the largest size; it moves no elements.
#pragma once

#include <vector>

#include "core/problem.hpp"
#include "device/gpu/gpu.hpp"

namespace tilewright {

// m, n, k, lda, ldb, ldc of each problem; columns follow each other without gaps.
struct DrawnSizes {
  explicit DrawnSizes(const GemmProblem& largest, std::int64_t count);

  std::vector<std::int64_t> values[6];
};

class GpuSizes {
 public:
  GpuSizes(const Gpu& gpu, const DrawnSizes& drawn);
  VariableSizes arrays() const;

 private:
  std::vector<GpuBuffer> buffers_;
};

// The pointer batch whose matrices those of a variable batch lie within; any other problem as it is.
GemmProblem with_places_of_pointers(GemmProblem problem);

}  // namespace tilewright
