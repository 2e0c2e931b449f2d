// Small problems of large GEMM by which the bench checks kernels in full: sizes, paddings, shifts and scalars
// drawn at random.
#pragma once

#include <random>

#include "kernel/gemm_large/loader.hpp"

namespace tilewright::bench {

struct LargeSmall {
  GemmProblem problem;  // leading dimensions set
  int offset = 0;       // elements by which all addresses are shifted from a multiple of 256 bytes
};
// Random sizes up to `most`, operations, paddings, shifts, alpha and beta.
LargeSmall any_large(DType dtype, int most, std::mt19937& random);
GemmLargeShape shape_of(const LargeSmall& one);

}  // namespace tilewright::bench
