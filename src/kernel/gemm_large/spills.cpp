// Predicts where registers run out: rules of the compiler (NVRTC 13.0 for sm_90), read from its reports. They
// are code rather than a fitted model because they follow the stencil's loops and change with its sources,
// not with the device.
#include "kernel/gemm_large/spills.hpp"

#include <algorithm>

namespace tilewright {
namespace {

using C = GemmLargeConfig;

// The assembler prefetches sums in shared memory, for which some configs have no registers (8x8 of c64 with A
// along k, of f32 in 128 registers that also add to C; tensor products whose fragments fill the rest).
bool sums_in_shared_spill(const C& c, const GemmLargeShape& shape, DType dtype, const GpuLimits& limits) {
  const GemmLargeShape seen = gemm_large_kernel_shape(shape, c);
  const bool large = c.thread_m * c.thread_n >= 64, rows = !seen.trans_a && seen.trans_b;
  const int budget =
      limits.registers_per_multiprocessor / (gemm_large_threads(c) * std::max(1, c.blocks_per_sm));
  switch (dtype) {
    case DType::c64:
      return large && c.ptxas_level == 3 && seen.trans_a;
    case DType::f32:
      return large && seen.reads_c && budget <= 128;
    case DType::f64:
      return rows && c.prefetch && c.warp_m * c.warp_n >= 2048;
    case DType::c128:
      return seen.trans_b && c.product == GemmLargeProduct::mma_16x8x16;
  }
  return false;
}

}  // namespace

bool gemm_large_known_to_spill(const C& c, const GemmLargeShape& shape, DType dtype,
                               const GpuLimits& limits) {
  // A walking block keeps its position and its reads of C beside sums that are set aside.
  if (c.sum_turns > 0 && gemm_large_walks(c) && shape.reads_c &&
      gemm_large_registers(shape, c, dtype) >= (c.sums_in_shared ? 150 : 180))
    return true;
  if (c.sums_in_shared && sums_in_shared_spill(c, shape, dtype, limits)) return true;
  // Walks of large c64 tiles spill as well if C is read, whoever orders the multiply-adds.
  if (dtype == DType::c64 && gemm_large_walks(c) && shape.reads_c && c.thread_m * c.thread_n >= 64)
    return true;
  if (!gemm_large_is_mma(c)) return false;
  const bool rows = !shape.trans_a && shape.trans_b;
  // The shape of sm_80 needs fewer registers: of 23 such configs one spilled there.
  if (c.product == GemmLargeProduct::mma_8x8x4)
    return dtype == DType::c128 && c.warp_m * c.warp_n >= 1024 && (gemm_large_warps(c) <= 4 || rows);
  const int registers = gemm_large_registers(shape, c, dtype);
  if (dtype == DType::c128) {
    if (registers < 220) return false;
    if (gemm_large_warps(c) <= 4 || c.product != GemmLargeProduct::mma_16x8x4 || c.tile_k > 8) return true;
    return rows && c.stages - c.slack != 2;
  }
  const int threads = gemm_large_threads(c) * std::max(1, c.blocks_per_sm);
  const int budget = limits.registers_per_multiprocessor / threads;
  if (budget <= 128 && registers > budget - 12) return true;
  return c.load == GemmLargeLoad::async && c.prefetch && c.tile_k >= 32;
}

}  // namespace tilewright
