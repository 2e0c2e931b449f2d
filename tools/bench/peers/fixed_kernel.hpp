// Tables of kernels whose sizes were known at compile time. They are compiled for the build machine's
// processor, so each table lists the instruction sets it needs; this header itself contains no code that
// could be compiled so and then shared with the rest of the program.
#pragma once

#include <cstdint>

namespace tilewright::peers {

// Computes `count` packed problems, one matrix after the other: alpha = 1, C = A B or C += A B, no
// transposition.
template <class T>
using FixedBatch = void (*)(const T* a, const T* b, T* c, std::int64_t count);

template <class T>
struct FixedKernel {
  int m, n, k;
  bool accumulate;  // beta = 1, otherwise beta = 0
  const char* variant;
  FixedBatch<T> run;
};

template <class T>
struct FixedTable {
  const FixedKernel<T>* kernels = nullptr;
  int count = 0;
  bool needs_avx2 = false;
  bool needs_avx512 = false;
};

FixedTable<float> loop_ijk_f32();
FixedTable<double> loop_ijk_f64();
FixedTable<float> loop_ikj_f32();
FixedTable<double> loop_ikj_f64();
FixedTable<float> eigen_fixed_f32();
FixedTable<double> eigen_fixed_f64();

#if defined(__AVX512F__) && defined(__AVX512DQ__)
#define TILEWRIGHT_TABLE_ISA true, true
#elif defined(__AVX2__)
#define TILEWRIGHT_TABLE_ISA true, false
#else
#define TILEWRIGHT_TABLE_ISA false, false
#endif

}  // namespace tilewright::peers
