// What a launch of the scaling kernel passes, read by the host compiler and by NVRTC alike.
#pragma once

namespace tilewright {

// C = beta C for `count` matrices of m x n.
template <class T>
struct GpuScaleArgs {
  T* c;
  long long m, n, count;
  long long ldc, stride_c;
  T beta;
};

}  // namespace tilewright
