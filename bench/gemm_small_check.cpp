// The batch that shows what a kernel does, and its launch.
#include "gemm_small_check.hpp"

#include <algorithm>

#include "measure/gpu/check.hpp"

namespace tilewright::bench {

int alignment_of(const SmallCase& one) {
  const int bytes = one.shift * static_cast<int>(size_bytes(one.problem.dtype));
  return bytes == 0 ? 128 : std::min(128, bytes & -bytes);
}

CheckResult check_small(const Gpu& gpu, const SmallCase& one, const GemmSmallKernel& kernel) {
  const GemmSmallConfig& c = kernel.config();
  constexpr unsigned blocks = 2;  // so that each walks over several tiles
  const std::int64_t tiles = std::int64_t(blocks) * (c.persistent ? c.stages + 2 : 1) + 1;
  const std::int64_t count = tiles * c.matrices_per_block -
                             (c.matrices_per_block > 1 ? c.matrices_per_block / 2 : 0) -
                             (c.matrices_per_block > 2 ? 1 : 0);
  return SmallCheck(one, count).run(GpuMemory(gpu), [&](const Operands& o) {
    const GemmProblem& p = one.problem;
    const auto step = [&](std::int64_t stride) { return p.block > 0 ? p.block : stride; };
    GemmSmallOperands to{
        o.a,   o.b,   o.c,  o.alpha, o.beta, count, step(p.stride_a), step(p.stride_b), step(p.stride_c),
        p.lda, p.ldb, p.ldc};
    to.alphas = o.alpha, to.betas = o.beta;
    to.sizes = {o.sizes.m, o.sizes.n, o.sizes.k, o.sizes.lda, o.sizes.ldb, o.sizes.ldc};
    to.info = o.info;
    kernel.launch(to, nullptr, c.persistent ? blocks : 0);
  });
}

}  // namespace tilewright::bench
