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

}  // namespace

SmallCases TILEWRIGHT_BENCH_LIST() {
  using T = TILEWRIGHT_BENCH_TYPE;
  return of_all_sizes([]<int N, int Beta>(SmallCases& cases) {
    const auto add = [&](const char* impl, const char* variant, auto run) {
      cases.push_back({impl, std::string(variant) + TILEWRIGHT_BENCH_VARIANT, sizeof(T), N, Beta, run});
    };
    add("loop_ijk", "by_column", walk<T, N, Dot<T, N, Beta, true>>);
    add("loop_ijk", "by_row", walk<T, N, Dot<T, N, Beta, false>>);
    add("loop_jki", "in_place", walk<T, N, AddColumns<T, N, Beta>>);
    add("loop_jki", "aside", walk<T, N, AddColumnsAside<T, N, Beta>>);
    add("loop_ikj", "in_place", walk<T, N, AddOuterProducts<T, N, Beta>>);
  });
}

}  // namespace tilewright::bench
