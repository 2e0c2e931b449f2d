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

template <int... Offset>
SmallCases all(std::integer_sequence<int, Offset...>) {
  SmallCases cases;
  ((cases.push_back({"tilewright_small", "", sizeof(T), first_size + Offset, 0,
                     walk<T, first_size + Offset, Header<first_size + Offset, 0>>}),
    cases.push_back({"tilewright_small", "", sizeof(T), first_size + Offset, 1,
                     walk<T, first_size + Offset, Header<first_size + Offset, 1>>})),
   ...);
  return cases;
}

}  // namespace

SmallCases TILEWRIGHT_BENCH_LIST() { return all(SizeOffsets{}); }

}  // namespace tilewright::bench
