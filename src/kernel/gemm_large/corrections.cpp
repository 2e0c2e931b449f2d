// What measurements and the compiler's reports say of configs of large GEMM beyond the model of costs.
#include "kernel/gemm_large/corrections.hpp"

#include <algorithm>

namespace tilewright {
namespace {

using C = GemmLargeConfig;

// What waiting for registers costs multiply-adds of f32 where a read holds four k of a row, whose registers
// then lie in the same banks: at n = 3000 to 16384 192x128 of 12x8 took 4 to 12 % more than predicted against
// rows that lie together, tiles of 8x8 up to 4.
double swizzle_factor(const C& c) {
  if (c.layout != GemmLargeLayout::swizzle) return 1;
  return c.thread_m * c.thread_n > 64 ? 1.07 : 1.02;
}

// What waiting for registers costs multiply-adds of c64, by the model of banks in docs/gemm_large_findings.md
// and the machine code: shares of the peak from 0.92 (8x8, rows contiguous, multiply-adds in the order of the
// source; 4 % less time than the next, n = 2048 and 4096) over 0.84 (in the assembler's order) and 0.80 (8x8,
// k contiguous) to 0.77 and 0.73.
double register_factor(const GemmLargeShape& seen, const C& c) {
  const bool rows = !seen.trans_a && seen.trans_b, k = seen.trans_a && !seen.trans_b;
  const bool large = c.thread_m * c.thread_n >= 64, kept = c.ptxas_level == 1;
  if (large && rows) return kept ? (c.tile_k >= 32 ? 0.95 : 0.96) : 1;
  return large && k ? 1.04 : rows ? 1.09 : 1.13;
}

// Copies by threads: of less than 16 bytes a third more (f64 n = 1009, 57 us beside the 41 of tensor copies
// at n = 1000), more than that where warps do not read ahead or the tile is so deep that they lack registers
// for it (61 to 67 us); of 16 bytes 12 % beside tensor cores, and with plain multiply-adds 7 % for each
// operand that is transposed on the way (f32 n = 4096, tn and tt).
double thread_copies_factor(const C& c, const GemmLargeShape& shape, bool mma) {
  if (c.load_bytes < gemm_large_chunk) return mma && c.prefetch && c.tile_k <= 16 ? 1.25 : 1.4;
  if (mma) return 1.12;
  return 1 + 0.07 * (shape.trans_a ? 1 : 0) + 0.07 * (shape.trans_b ? 0 : 1);
}

// Sums in shared memory are read ahead by the assembler, for which some have no registers (8x8 of c64 with A
// along k, of f32 in 128 registers that also add to C; tensor products whose fragments fill what is left).
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

double gemm_large_correction(const C& c, const GemmLargeShape& shape, DType dtype) {
  const bool f64 = dtype == DType::f64, mma = gemm_large_is_mma(c);
  double factor = 1;
  if (c.stream_k > 0)
    factor *= dtype == DType::f32 ? 1.03 : 1.06;  // f64 n = 3000 and 4096: 5 to 12 % more than the best
  else if (c.persistent)
    factor *= f64 ? 1.03 : 1.001;
  // Where registers are full already a walk spills some for most operations.
  if (dtype == DType::c128 && gemm_large_walks(c)) factor *= 1.1;
  // Won nowhere; with parts of k 65 us for 28 (m = n = 64, k = 65536).
  if (c.cluster > 1) factor *= c.split_k > 1 ? 2 : 1.13;
  if (c.load != GemmLargeLoad::tensor) factor *= thread_copies_factor(c, shape, mma);
  // Complex products that have no registers to read ahead lack them for this, too (n = 4096: 1 to 15 % more
  // than the same without).
  if (c.tail_k > 1 && is_complex(dtype) && !c.prefetch) factor *= 1.05;
  if (f64 && c.product == GemmLargeProduct::mma_16x8x4) factor *= 1.03;
  // The median of 49 pairs took 4.2 % more than turns of twice the depth, some of those with fewer stages.
  if (dtype == DType::c128 && mma && c.tile_k <= 8) factor *= 1.04;
  // Seen at 900x700x2000 (280 us for 226 of smaller tiles that were predicted to take the same) and n = 768.
  if (dtype == DType::c64 && c.sums_in_shared && (c.ptxas_level == 1 || gemm_large_walks(c))) factor *= 1.2;
  if (dtype == DType::f32 && !mma) factor *= swizzle_factor(c);
  if (dtype == DType::c64 && !mma) factor *= register_factor(gemm_large_kernel_shape(shape, c), c);
  // Twelve warps leave so few registers that some operations spill.
  if (mma && gemm_large_warps(c) == 12) factor *= 1.045;
  return factor;
}

bool gemm_large_known_to_spill(const C& c, const GemmLargeShape& shape, DType dtype,
                               const GpuLimits& limits) {
  // A walk holds its place, and what it reads of C, beside sums that are set aside.
  if (c.sum_turns > 0 && gemm_large_walks(c) && shape.reads_c &&
      gemm_large_registers(shape, c, dtype) >= (c.sums_in_shared ? 150 : 180))
    return true;
  if (c.sums_in_shared && sums_in_shared_spill(c, shape, dtype, limits)) return true;
  // So do walks of large c64 tiles where C is read, whoever orders the multiply-adds.
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
