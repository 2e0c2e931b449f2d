// These peers are compiled for the build machine's processor: kernels whose sizes were known at compile time,
// Eigen with run-time sizes, and vector loops over interleaved data. Each says which instruction sets it
// needs; this header itself contains no code that could be compiled so and then shared with the rest of the
// program.
#pragma once

#include <cstdint>

namespace tilewright::peers {

struct BuiltFor {
  bool avx2 = false, avx512 = false;
};

#if defined(__AVX512F__) && defined(__AVX512DQ__)
#define TILEWRIGHT_BUILT_FOR \
  { true, true }
#elif defined(__AVX2__)
#define TILEWRIGHT_BUILT_FOR \
  { true, false }
#else
#define TILEWRIGHT_BUILT_FOR \
  { false, false }
#endif

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
  BuiltFor needs{};
};

FixedTable<float> loop_ijk_f32();
FixedTable<double> loop_ijk_f64();
FixedTable<float> loop_ikj_f32();
FixedTable<double> loop_ikj_f64();
FixedTable<float> eigen_fixed_f32();
FixedTable<double> eigen_fixed_f64();

// One problem of run-time size; op is 0 none, 1 transposed (real types only). Scalars are pairs of real and
// imaginary part.
struct EigenCall {
  std::int64_t m, n, k, lda, ldb, ldc;
  int op_a, op_b;
  double alpha[2], beta[2];
};
struct EigenDynamic {
  void (*run)(const EigenCall& call, const void* a, const void* b, void* c) = nullptr;
  BuiltFor needs{};
};
EigenDynamic eigen_dynamic(int type);  // 0 f32, 1 f64, 2 c64, 3 c128
const char* eigen_version();

// A loop over packed column-major matrices by Eigen's decompositions. The result overwrites A, of solves B;
// `rows` receives n numbers for each LU: row i of A becomes row rows[i] of L U.
struct EigenFactor {
  const char* variant = "";
  void (*run)(std::int64_t n, std::int64_t nrhs, void* a, void* b, int* rows, std::int64_t count) = nullptr;
  BuiltFor needs{};
};
enum class EigenRoutine { potrf, getrf, posv, gesv, inv };
// `type` as below; `n` is a size that is known at compile time, or 0. Without a function if there is no such
// loop.
EigenFactor eigen_factor(EigenRoutine routine, int type, std::int64_t n);

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
  BuiltFor needs{};
};
InterleavedLoop<float> interleaved_loop_f32();
InterleavedLoop<double> interleaved_loop_f64();

}  // namespace tilewright::peers

// The sizes that compile-time peers are instantiated for, as lists expanded by a macro because templates need
// constants. Eigen takes a second or more to compile per size, so it gets the sizes of the acceptance table
// only.
// clang-format off
#define TILEWRIGHT_ACCEPTANCE_SIZES(X)                                                                  \
  X(2, 2, 2) X(3, 3, 3) X(4, 4, 4) X(5, 5, 5) X(6, 6, 6) X(7, 7, 7) X(8, 8, 8) X(9, 9, 9)              \
  X(10, 10, 10) X(11, 11, 11) X(12, 12, 12) X(13, 13, 13) X(14, 14, 14) X(15, 15, 15) X(16, 16, 16)    \
  X(20, 20, 20) X(23, 23, 23) X(24, 24, 24) X(28, 28, 28) X(31, 31, 31) X(32, 32, 32)                  \
  X(5, 13, 23) X(4, 4, 64) X(10, 10, 35) X(13, 13, 26) X(24, 8, 3) X(32, 32, 8) X(8, 32, 32)

#define TILEWRIGHT_PEER_SIZES(X)                                                                        \
  TILEWRIGHT_ACCEPTANCE_SIZES(X)                                                                        \
  X(17, 17, 17) X(18, 18, 18) X(19, 19, 19) X(21, 21, 21) X(22, 22, 22) X(25, 25, 25) X(26, 26, 26)    \
  X(27, 27, 27) X(29, 29, 29) X(30, 30, 30)
// clang-format on
