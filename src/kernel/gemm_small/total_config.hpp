// What a launch of the kernel that adds up the parts of a sum passes, read by the host compiler and by NVRTC
// alike.
#pragma once

namespace tilewright {

// C = alpha (part 0 + part 1 + ...) + beta C; parts of m x n elements lie one behind the other.
template <class T>
struct GemmSmallTotalArgs {
  const T* parts;
  T* c;
  T* const* c_at;  // where the address of C stands, where `c` is null
  long long part_count;
  long long m, n, ldc;
  T alpha, beta;
  bool reads_c;  // beta is not zero
};

inline constexpr int gemm_small_total_elements = 8;  // neighbours that a block adds up
inline constexpr int gemm_small_total_shares = 128;  // threads that have an element together

}  // namespace tilewright
