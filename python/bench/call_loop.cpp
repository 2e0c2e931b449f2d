// The calls that tilewright.matmul is held against: the same products by the public C++ interface in a loop,
// as a library that python/bench/bench_overhead.py loads. It is no part of the package.
#include <cstdint>

#include "tilewright/gemm.hpp"

// C = A B for `batch` row-major n x n matrices, `repeats` times, by one thread. Row-major products are those
// of the transposed matrices the other way round. Returns 0, or 1 where the library throws.
extern "C" int tilewright_call_loop(std::int64_t repeats, std::int64_t batch, std::int64_t n, const double* a,
                                    const double* b, double* c) {
  using namespace tilewright;
  static Context context;
  GemmOptions options;
  options.threads = 1;
  try {
    for (std::int64_t i = 0; i < repeats; ++i)
      if (batch == 1)
        gemm<double>(context, Op::none, Op::none, 1.0, {b, n, n, n}, {a, n, n, n}, 0.0, {c, n, n, n},
                     options);
      else
        gemm_batched<double>(context, Op::none, Op::none, 1.0,
                             StridedBatch<const double>{{b, n, n, n}, n * n, batch},
                             StridedBatch<const double>{{a, n, n, n}, n * n, batch}, 0.0,
                             StridedBatch<double>{{c, n, n, n}, n * n, batch}, options);
  } catch (const Error&) {
    return 1;
  }
  return 0;
}
