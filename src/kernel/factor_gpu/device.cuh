// Instructions of the factorization kernels: exchanges and values within a warp, square roots, and the bits
// by which magnitudes are compared. Tests replace this file by a host version.
#pragma once

namespace tilewright {

__device__ __forceinline__ unsigned lane_exchange(unsigned x, int distance) {
  return __shfl_xor_sync(0xffffffffu, x, distance);
}
__device__ __forceinline__ unsigned long long lane_exchange(unsigned long long x, int distance) {
  return __shfl_xor_sync(0xffffffffu, x, distance);
}
__device__ __forceinline__ float lane_value(float x, int lane) { return __shfl_sync(0xffffffffu, x, lane); }
__device__ __forceinline__ double lane_value(double x, int lane) { return __shfl_sync(0xffffffffu, x, lane); }
// Of numbers that are not negative the bits are in the order of the values, with NaN above all.
__device__ __forceinline__ unsigned magnitude_bits(float x) { return __float_as_uint(fabsf(x)); }
__device__ __forceinline__ unsigned long long magnitude_bits(double x) {
  return static_cast<unsigned long long>(__double_as_longlong(fabs(x)));
}
__device__ __forceinline__ float magnitude_of(float x) { return fabsf(x); }
__device__ __forceinline__ double magnitude_of(double x) { return fabs(x); }
__device__ __forceinline__ float inverse_root(float x) {
  const float r = rsqrtf(x);
  return fmaf(0.5f * r, fmaf(-(x * r), r, 1.0f), r);  // the instruction has 2 ulp
}
__device__ __forceinline__ double inverse_root(double x) { return rsqrt(x); }
// Stores 16 bytes by one instruction, also beside a branch that stores their parts, with which compilers join
// plain stores.
template <class Vector>
__device__ __forceinline__ void store_vector(void* to, const Vector& value) {
  static_assert(sizeof(Vector) == 16);
  const auto* const words = reinterpret_cast<const unsigned*>(&value);
  asm volatile("st.global.v4.b32 [%0], {%1, %2, %3, %4};" ::"l"(to), "r"(words[0]), "r"(words[1]),
               "r"(words[2]), "r"(words[3])
               : "memory");
}
// Ends what the compiler knows of memory, so that it reads again instead of keeping a matrix in registers.
__device__ __forceinline__ void forget_memory() { asm volatile("" ::: "memory"); }

}  // namespace tilewright
