// What a launch of a streaming loop passes, read by the host compiler and by NVRTC alike.
#pragma once

namespace tilewright {

// `tiles` tiles, each of a_count, b_count and c_count doubles (even, 0 for an operand that does not stream),
// the largest of which is `longest`.
struct GpuStreamArgs {
  const double* a;
  const double* b;
  double* c;
  long long tiles;
  int a_count, b_count, c_count, longest;
};

}  // namespace tilewright
