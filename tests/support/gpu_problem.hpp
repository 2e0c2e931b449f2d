// Problems in device memory for tests.
#pragma once

#include "core/problem.hpp"

namespace tilewright {

// A packed strided batch of m x n x k products, beta = 1.
inline GemmProblem small_batch(DType dtype, int m, int n, int k) {
  GemmProblem p;
  p.dtype = dtype;
  p.m = m;
  p.n = n;
  p.k = k;
  p.layout = Layout::strided;
  p.batch_count = 1000;
  p.beta = Scalar::one;
  p.location = Location::device;
  return packed(p);
}

}  // namespace tilewright
