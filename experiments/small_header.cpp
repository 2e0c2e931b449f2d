// tilewright's contender: gemm<n, n, n> of small.hpp as a caller would write it. TILEWRIGHT_BENCH_TYPE and
// _LIST select this list.
#include "small_cases.hpp"
#include "tilewright/small.hpp"

namespace tilewright::bench {
namespace {

using T = TILEWRIGHT_BENCH_TYPE;

template <int N, int Beta>
struct Header {
  static void multiply(const T* a, const T* b, T* c) { gemm<N, N, N>(1, a, N, b, N, Beta, c, N); }
};

}  // namespace

SmallCases TILEWRIGHT_BENCH_LIST() {
  return of_all_sizes([]<int N, int Beta>(SmallCases& cases) {
    cases.push_back({"tilewright_small", "", sizeof(T), N, Beta, walk<T, N, Header<N, Beta>>});
  });
}

}  // namespace tilewright::bench
