// Corrects the cost model's predictions for configs of large GEMM: decides which of the fitted factors apply
// to a config. The observations behind each are in docs/notebook/gemm_large_choice.md.
#include "kernel/gemm_large/corrections.hpp"

namespace tilewright {
namespace {

using C = GemmLargeConfig;
using F = GemmLargeCorrections;

// Returns the factor of multiply-adds that wait for registers of the same banks. It depends on whether a read
// holds several k of a row, on which operands are contiguous and on who orders the multiply-adds.
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

// Returns the factor of copies by threads. Narrow ones cost most if warps do not prefetch or if the tile is
// so deep that they lack registers for it; wide ones cost something beside tensor cores, otherwise for each
// operand that is transposed during the copy.
double thread_copies_factor(const C& c, const GemmLargeShape& shape, bool mma, const F& f) {
  if (c.load_bytes < gemm_large_chunk)
    return mma && c.prefetch && c.tile_k <= 16 ? f.narrow_copies_ahead : f.narrow_copies;
  if (mma) return f.wide_copies_mma;
  return 1 + (f.transposed_operand - 1) * ((shape.trans_a ? 1 : 0) + (shape.trans_b ? 0 : 1));
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

}  // namespace tilewright
