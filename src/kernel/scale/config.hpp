// Launch arguments of the scaling kernel, for the host compiler and NVRTC.
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
