// The declared space of configs.
#include "kernel/factor_gpu/space.hpp"

#include <numeric>

namespace tilewright {

Space<FactorGpuConfig> factor_gpu_space(const FactorGpuShape& s, DType dtype, const GpuLimits& limits) {
  using C = FactorGpuConfig;
  const int bytes = int(size_bytes(dtype));
  Space<C> space;
  space.axis(&C::lanes, {1, 2, 4, 8, 16, 32});
  space.require(
      "no lane of a matrix is without a row or right side",
      [=](const C& c) { return c.lanes == 1 || c.lanes / 2 < std::max(s.n, s.nrhs); }, &C::lanes);
  space.axis(&C::direct, {0, 1, 2, 4, 8});
  space.require("only factorizations of one thread each go directly, in matrices that fill vectors",
                [=](const C& c) {
                  const bool fits = c.direct % factor_gpu_together(s, bytes) == 0;
                  return c.direct == 0 || (factor_gpu_may_go_directly(s) && c.lanes == 1 && fits);
                });
  space.axis(&C::warps, {1, 2, 4, 8, 16});
  space.require("tiles of a batch that is one run begin with whole vectors",
                [=](const C& c) { return factor_gpu_begins_whole(s, c, bytes); });
  space.require("a block has at most the threads of the device",
                [=](const C& c) { return factor_gpu_threads(c) <= limits.threads_per_block; });
  space.axis(&C::stages, {1, 2});
  space.require("only what passes through shared memory has stages",
                [](const C& c) { return c.direct == 0 || c.stages == 1; });
  space.require("stages fit the shared memory of a block", [=](const C& c) {
    return factor_gpu_memory(s, c, bytes).total <= limits.shared_bytes_per_block;
  });
  space.axis(&C::run, {0, 8, 16, 32});
  space.require("only factorizations loop over columns, over fewer than there are", [=](const C& c) {
    return c.run == 0 || (s.method != FactorGpuMethod::none && c.run < s.n && c.direct == 0);
  });
  space.require("rows fit the registers of a thread",
                [=](const C& c) { return factor_gpu_registers(s, c, bytes) <= 255; });
  std::vector<int> blocks(32);
  std::iota(blocks.begin(), blocks.end(), 1);
  space.axis(&C::blocks_per_sm, blocks);
  space.require("the blocks that registers are left for fit a multiprocessor", [=](const C& c) {
    return c.blocks_per_sm <= factor_gpu_resident(s, c, bytes, factor_gpu_room(limits));
  });
  return space;
}

}  // namespace tilewright
