// Launch arguments of a streaming loop, for the host compiler and NVRTC.
#pragma once

namespace tilewright {

// `tiles` tiles, each of a_count, b_count and c_count doubles (even, 0: none), the largest is `longest`.
struct GpuStreamArgs {
  const double* a;
  const double* b;
  double* c;
  long long tiles;
  int a_count, b_count, c_count, longest;
};

}  // namespace tilewright
