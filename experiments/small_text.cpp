// 64 kernels of small.hpp, C += A B of n = 1 .. 32 in f32 and f64, as one object whose size `size` reports:
// g++ -std=c++20 -O2 -march=x86-64-v4 -Iinclude -c experiments/small_text.cpp && size small_text.o
#include <utility>

#include "tilewright/small.hpp"

namespace {

template <class T, int N>
void multiply(const T* a, const T* b, T* c) {
  tilewright::gemm<N, N, N>(1, a, N, b, N, 1, c, N);
}

template <class T>
using Kernel = void (*)(const T*, const T*, T*);

template <class T, int... Before>
Kernel<T> kernel_of(int n, std::integer_sequence<int, Before...>) {
  static constexpr Kernel<T> all[] = {multiply<T, Before + 1>...};
  return all[n - 1];
}

}  // namespace

Kernel<float> kernel_f32(int n) { return kernel_of<float>(n, std::make_integer_sequence<int, 32>{}); }
Kernel<double> kernel_f64(int n) { return kernel_of<double>(n, std::make_integer_sequence<int, 32>{}); }
