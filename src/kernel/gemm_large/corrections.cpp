// Corrections of the cost model of large GEMM: fitted factors (docs/notebook.md), and rules
// for configs that spill registers (by reports of NVRTC 13.0 for sm_90), which follow the stencil's loops.
#include <algorithm>

#include "kernel/gemm_large/gemm_large.hpp"

namespace tilewright {
namespace {

using C = GemmLargeConfig;
using F = GemmLargeCorrections;

// Returns the factor of multiply-adds that wait for registers of the same banks: it depends on the reads, on
// contiguous operands and on the order of multiply-adds.
double register_factor(const C& c, const GemmLargeShape& seen, const F& f) {
  const bool rows = !seen.trans_a && seen.trans_b, k = seen.trans_a && !seen.trans_b;
  const int sums = c.thread_m * c.thread_n;
  double factor = c.layout != GemmLargeLayout::swizzle ? 1 : sums > 64 ? f.swizzle_large : f.swizzle;
  if (sums >= 64 && rows)
    return factor * (c.ptxas_level != 1 ? f.rows_large
                     : c.tile_k >= 32   ? f.rows_large_ordered_deep
                                        : f.rows_large_ordered);
  return factor * (sums >= 64 && k ? f.k_large : rows ? f.rows : f.other);
}

// Returns the factor of copies by threads. Narrow ones cost most without prefetch or in tiles too deep for
// it; wide ones beside tensor cores, else per operand that the copy transposes.
double thread_copies_factor(const C& c, const GemmLargeShape& shape, bool mma, const F& f) {
  if (c.load_bytes < gemm_large_chunk)
    return mma && c.prefetch && c.tile_k <= 16 ? f.narrow_copies_ahead : f.narrow_copies;
  if (mma) return f.wide_copies_mma;
  return 1 + (f.transposed_operand - 1) * ((shape.trans_a ? 1 : 0) + (shape.trans_b ? 0 : 1));
}

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

// Returns true if the compiler spills where sizes and leading dimensions are registers as well, which
// arguments of a launch are not (nn, nt and tn of all types, 260 configs).
bool lists_spill(const C& c, DType dtype, const GpuLimits& limits) {
  constexpr int of_mma = 52, of_async = 24, of_others = 44, schedulers = 4, granularity = 8;
  if (gemm_large_is_mma(c) && c.prefetch) return true;
  const int warps = (gemm_large_warps(c) * c.blocks_per_sm + schedulers - 1) / schedulers * schedulers;
  const int budget =
      limits.registers_per_multiprocessor / (warps * gemm_large_lanes) / granularity * granularity;
  const int more = gemm_large_is_mma(c) ? of_mma : c.load == GemmLargeLoad::async ? of_async : of_others;
  return gemm_large_registers(c, dtype) + more > std::min(budget, gemm_large_most_registers);
}

}  // namespace

double gemm_large_correction(const C& c, const GemmLargeShape& shape, const F& f) {
  const bool mma = gemm_large_is_mma(c), walks = gemm_large_walks(c);
  double factor = 1;
  if (c.stream_k > 0)
    factor *= f.stream_k;
  else if (c.persistent)
    factor *= f.persistent;
  if (walks) factor *= f.walking;
  if (c.cluster > 1) factor *= c.split_k > 1 ? f.cluster_split_k : f.cluster;
  if (c.load != GemmLargeLoad::tensor) factor *= thread_copies_factor(c, shape, mma, f);
  if (c.tail_k > 1 && !c.prefetch) factor *= f.tail_k_not_ahead;
  if (c.product == GemmLargeProduct::mma_16x8x4) factor *= f.product_16x8x4;
  if (mma && c.tile_k <= 8) factor *= f.shallow_turns_mma;
  if (c.sums_in_shared && (c.ptxas_level == 1 || walks)) factor *= f.ordered_sums_in_shared;
  if (!mma) factor *= register_factor(c, gemm_large_kernel_shape(shape, c), f);
  if (mma && gemm_large_warps(c) == 12) factor *= f.twelve_warps;
  return factor;
}

bool gemm_large_known_to_spill(const C& c, const GemmLargeShape& shape, DType dtype,
                               const GpuLimits& limits) {
  if (shape.batch == GemmLargeBatch::listed) return lists_spill(c, dtype, limits);
  // A walking block keeps its position and its reads of C beside sums that are set aside.
  if (c.sum_turns > 0 && gemm_large_walks(c) && shape.reads_c &&
      gemm_large_registers(c, dtype) >= (c.sums_in_shared ? 150 : 180))
    return true;
  if (c.sums_in_shared && sums_in_shared_spill(c, shape, dtype, limits)) return true;
  // Walks of large c64 tiles spill as well if C is read, in any order of multiply-adds.
  if (dtype == DType::c64 && gemm_large_walks(c) && shape.reads_c && c.thread_m * c.thread_n >= 64)
    return true;
  if (!gemm_large_is_mma(c)) return false;
  const bool rows = !shape.trans_a && shape.trans_b;
  // The shape of sm_80 needs fewer registers: of 23 such configs one spilled there.
  if (c.product == GemmLargeProduct::mma_8x8x4)
    return dtype == DType::c128 && c.warp_m * c.warp_n >= 1024 && (gemm_large_warps(c) <= 4 || rows);
  const int registers = gemm_large_registers(c, dtype);
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
