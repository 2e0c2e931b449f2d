// Small problems of large GEMM by which the bench checks kernels in full: sizes, paddings, shifts and scalars
// drawn at random.
#pragma once

#include <random>

#include "kernel/gemm_large/loader.hpp"
#include "measure/small_batch.hpp"

namespace tilewright::bench {

// Random sizes up to `most`, operations, paddings, shifts, alpha and beta.
SmallCase any_large(DType dtype, int most, std::mt19937& random);
GemmLargeShape shape_of(const SmallCase& one);

}  // namespace tilewright::bench
