// The rivals: plain loops with sizes known at compile time, restrict pointers and nothing else, in the orders
// that compilers optimise best. TILEWRIGHT_BENCH_TYPE, _LIST and _VARIANT select this list: it is built once
// per type with the compiler's choice of vector width and once with 512-bit vectors preferred.
#include "small_cases.hpp"

namespace tilewright::bench {
namespace {

template <class T, int N, int Beta, bool ByColumn>
struct Dot {  // the inner product, columns or rows of C outside
  static void multiply(const T* __restrict a, const T* __restrict b, T* __restrict c) {
    for (int outer = 0; outer < N; ++outer) {
      for (int inner = 0; inner < N; ++inner) {
        const int i = ByColumn ? inner : outer, j = ByColumn ? outer : inner;
        T sum = 0;
        for (int k = 0; k < N; ++k) sum += a[i + k * N] * b[k + j * N];
        c[i + j * N] = Beta ? c[i + j * N] + sum : sum;
      }
    }
  }
};

template <class T, int N, int Beta>
struct AddColumns {  // columns of A added into a column of C in place
  static void multiply(const T* __restrict a, const T* __restrict b, T* __restrict c) {
    for (int j = 0; j < N; ++j) {
      if (!Beta)
        for (int i = 0; i < N; ++i) c[i + j * N] = 0;
      for (int k = 0; k < N; ++k)
        for (int i = 0; i < N; ++i) c[i + j * N] += a[i + k * N] * b[k + j * N];
    }
  }
};

template <class T, int N, int Beta>
struct AddOuterProducts {  // one outer product after the other added into C in place
  static void multiply(const T* __restrict a, const T* __restrict b, T* __restrict c) {
    if (!Beta)
      for (int i = 0; i < N * N; ++i) c[i] = 0;
    for (int k = 0; k < N; ++k)
      for (int j = 0; j < N; ++j)
        for (int i = 0; i < N; ++i) c[i + j * N] += a[i + k * N] * b[k + j * N];
  }
};

template <class T, int N, int Beta>
struct AddColumnsAside {  // columns of A added into a local column, which is then merged
  static void multiply(const T* __restrict a, const T* __restrict b, T* __restrict c) {
    for (int j = 0; j < N; ++j) {
      T column[N] = {};
      for (int k = 0; k < N; ++k)
        for (int i = 0; i < N; ++i) column[i] += a[i + k * N] * b[k + j * N];
      for (int i = 0; i < N; ++i) c[i + j * N] = Beta ? c[i + j * N] + column[i] : column[i];
    }
  }
};

using T = TILEWRIGHT_BENCH_TYPE;
constexpr int bytes = sizeof(T);
const std::string variant = TILEWRIGHT_BENCH_VARIANT;

template <int N, int Beta>
void add(SmallCases& cases) {
  cases.push_back({"loop_ijk", "by_column" + variant, bytes, N, Beta, walk<T, N, Dot<T, N, Beta, true>>});
  cases.push_back({"loop_ijk", "by_row" + variant, bytes, N, Beta, walk<T, N, Dot<T, N, Beta, false>>});
  cases.push_back({"loop_jki", "in_place" + variant, bytes, N, Beta, walk<T, N, AddColumns<T, N, Beta>>});
  cases.push_back({"loop_jki", "aside" + variant, bytes, N, Beta, walk<T, N, AddColumnsAside<T, N, Beta>>});
  cases.push_back(
      {"loop_ikj", "in_place" + variant, bytes, N, Beta, walk<T, N, AddOuterProducts<T, N, Beta>>});
}

template <int... Offset>
SmallCases all(std::integer_sequence<int, Offset...>) {
  SmallCases cases;
  ((add<first_size + Offset, 0>(cases), add<first_size + Offset, 1>(cases)), ...);
  return cases;
}

}  // namespace

SmallCases TILEWRIGHT_BENCH_LIST() { return all(SizeOffsets{}); }

}  // namespace tilewright::bench
