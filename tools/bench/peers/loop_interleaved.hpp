// Plain vector loops over interleaved data: the declaration; the definitions are built for this processor.
#pragma once

#include <cstdint>

namespace tilewright::peers {

struct InterleavedCall {
  std::int64_t m, n, k, lda, ldb, ldc;
  std::int64_t blocks;
};
template <class T>
using InterleavedRun = void (*)(const InterleavedCall& call, const T* a, const T* b, T* c);

template <class T>
struct InterleavedLoop {
  InterleavedRun<T> overwrite = nullptr;   // beta = 0
  InterleavedRun<T> accumulate = nullptr;  // beta = 1
  std::int64_t block = 0;
  bool needs_avx2 = false;
  bool needs_avx512 = false;
};
InterleavedLoop<float> interleaved_loop_f32();
InterleavedLoop<double> interleaved_loop_f64();

}  // namespace tilewright::peers
