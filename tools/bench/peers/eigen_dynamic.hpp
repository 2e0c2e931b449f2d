// Eigen with run-time sizes: the declaration only, since the definition is built for this processor like the
// fixed sizes.
#pragma once

#include <cstdint>

namespace tilewright::peers {

// One problem; op is 0 none, 1 transposed (real types only). Scalars are pairs of real and imaginary part.
struct EigenCall {
  std::int64_t m, n, k, lda, ldb, ldc;
  int op_a, op_b;
  double alpha[2], beta[2];
};
using EigenRun = void (*)(const EigenCall& call, const void* a, const void* b, void* c);

struct EigenDynamic {
  EigenRun run = nullptr;
  bool needs_avx2 = false;
  bool needs_avx512 = false;
};
// type: 0 f32, 1 f64, 2 c64, 3 c128.
EigenDynamic eigen_dynamic(int type);

const char* eigen_version();

}  // namespace tilewright::peers
