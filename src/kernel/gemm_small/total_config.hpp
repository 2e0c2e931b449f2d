// Launch arguments of the kernel that adds up the parts of a sum, for the host compiler and NVRTC.
#pragma once

namespace tilewright {

// C = alpha (part 0 + part 1 + ...) + beta C; parts of m x n elements are contiguous.
template <class T>
struct alignas(16) GemmSmallTotalArgs {
  T alpha, beta;  // first, so that the alignment of host and device complex numbers makes no difference
  const T* parts;
  T* c;
  T* const* c_at;  // address of C's address, used if `c` is null
  long long part_count;
  long long m, n, ldc;
  bool reads_c;  // beta is not zero
};

inline constexpr int gemm_small_total_elements = 8;  // neighbours that a block adds up
inline constexpr int gemm_small_total_shares = 128;  // threads per element

}  // namespace tilewright
