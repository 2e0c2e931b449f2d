// The shape of a problem of batched small GEMM on the GPU, its space, and the geometry of a launch.
#include "kernel/gemm_small/gemm_small.hpp"

#include <algorithm>

namespace tilewright {
namespace {

// Returns the `values` below `size`, and `size`.
std::vector<int> up_to(int size, std::initializer_list<int> values) {
  std::vector<int> result;
  for (const int value : values)
    if (value < size) result.push_back(value);
  result.push_back(size);
  std::sort(result.begin(), result.end());
  return result;
}

// Adds the axes that change a block's code but not its work.
void add_code_axes(Space<GemmSmallConfig>& space, const GemmSmallShape& s, DType dtype,
                   const GpuLimits& limits) {
  using C = GemmSmallConfig;
  space.axis(&C::columns_together, {false, true});
  space.axis(&C::k_unroll, up_to(s.k, {0, 1, 2, 4, 5, 6, 7, 8, 16}));
  space.axis(&C::persistent, {true, false});
  space.require("a ring of stages needs a block that walks over tiles", [=](const C& c) {
    const bool of_warps = gemm_small_rings(s, c) || s.sums != GemmSmallSums::none;
    return c.persistent || c.stages == 1 || of_warps;
  });
  space.axis(&C::blocks_per_sm, {0, 1, 2, 3, 4, 6, 8, 12, 16, 20});
  space.require("the registers and threads of the blocks that are asked for exist", [=](const C& c) {
    return c.blocks_per_sm * c.threads <= limits.threads_per_multiprocessor &&
           c.blocks_per_sm * c.threads * gemm_small_registers(c, dtype) <=
               limits.registers_per_multiprocessor;
  });
}

// True if every operand's matrices can be copied whole.
bool all_contiguous(const GemmSmallShape& s) {
  const auto whole = [](const GemmSmallOperand& o) {
    return o.contiguous || o.step == GemmSmallStep::broadcast;
  };
  return !s.sizes_vary && whole(gemm_small_a(s, 1)) && whole(gemm_small_b(s, 1)) && whole(gemm_small_c(s, 1));
}

void add_load_rules(Space<GemmSmallConfig>& space, const GemmSmallShape& s, const GpuLimits& limits) {
  using C = GemmSmallConfig;
  const bool contiguous = all_contiguous(s);
  space.axis(&C::load,
             {GemmSmallLoad::bulk, GemmSmallLoad::async, GemmSmallLoad::direct, GemmSmallLoad::read_only});
  space.require("bulk copies need compute capability 9.0",
                [=](const C& c) { return c.load != GemmSmallLoad::bulk || limits.compute_capability >= 90; });
  space.require("asynchronous copies need compute capability 8.0", [=](const C& c) {
    return c.load != GemmSmallLoad::async || limits.compute_capability >= 80;
  });
  space.require(
      "bulk copies need contiguous matrices, or rings for problems of their own sizes",
      [=](const C& c) { return c.load != GemmSmallLoad::bulk || contiguous || gemm_small_rings(s, c); });
  space.axis(&C::c_direct, {false, true});
  space.require("C is read on its own only where it is read and A and B are staged",
                [=](const C& c) { return !c.c_direct || (s.reads_c && !gemm_small_is_direct(c.load)); });
  space.axis(&C::shift_bytes, {128, 32, 16});
  const bool has_packed = gemm_small_has(s, GemmSmallStep::packed);
  space.require("only staged tiles of packed operands are shifted", [=](const C& c) {
    return c.shift_bytes == 16 || (has_packed && !gemm_small_is_direct(c.load));
  });
}

void add_store_rules(Space<GemmSmallConfig>& space, const GemmSmallShape& s, const GpuLimits& limits) {
  using C = GemmSmallConfig;
  const GemmSmallOperand result = gemm_small_c(s, 1);
  const bool whole = result.contiguous && result.ld == s.m && !s.sizes_vary;
  space.axis(&C::store, {GemmSmallStore::bulk, GemmSmallStore::shared, GemmSmallStore::direct});
  space.require("bulk stores need compute capability 9.0 and a C without gaps", [=](const C& c) {
    return c.store != GemmSmallStore::bulk || (limits.compute_capability >= 90 && whole);
  });
  space.require("matrices of varying sizes are stored from registers",
                [=](const C& c) { return c.store == GemmSmallStore::direct || !s.sizes_vary; });
  space.require("operands that are read directly need no staged store", [](const C& c) {
    return !gemm_small_is_direct(c.load) || c.store == GemmSmallStore::direct;
  });
  space.axis(&C::refill, {GemmSmallRefill::spare, GemmSmallRefill::at_once, GemmSmallRefill::late});
  space.require("only bulk stores are waited for before stages are loaded again", [](const C& c) {
    return c.refill == GemmSmallRefill::late || c.store == GemmSmallStore::bulk;
  });
}

// Adds the rules of sums: each warp walks over its own products and holds its C in registers.
void add_sum_rules(Space<GemmSmallConfig>& space, const GemmSmallShape& s) {
  using C = GemmSmallConfig;
  space.require("products that are summed up come by copies of their own warp, or are read where they lie",
                [](const C& c) { return c.load != GemmSmallLoad::bulk; });
  space.require("sums leave from the registers that hold them",
                [](const C& c) { return c.store == GemmSmallStore::direct; });
  space.require("the C of a sum is read by the threads that hold it",
                [=](const C& c) { return !gemm_small_loads_c(s, c); });
  space.require("the warps of a block take equally many products of a list", [](const C& c) {
    return c.matrices_per_block >= c.threads / 32 && c.matrices_per_block % (c.threads / 32) == 0;
  });
  space.require("a warp does not read its products more than four times",
                [=](const C& c) { return gemm_small_tiles_m(s, c) * gemm_small_tiles_n(s, c) <= 4 * 32; });
}

void add_multiply_rules(Space<GemmSmallConfig>& space, const GemmSmallShape& s, DType dtype,
                        const GpuLimits& limits) {
  using C = GemmSmallConfig;
  using Multiply = GemmSmallMultiply;
  space.axis(&C::multiply, {Multiply::fma, Multiply::mma_8x8x4, Multiply::mma_16x8x4});
  space.require("tensor cores multiply doubles, from compute capability 8.0, by 16 x 8 x 4 from 9.0",
                [=](const C& c) {
                  const bool wide = dtype == DType::f64 || dtype == DType::c128;
                  const int needed = c.multiply == Multiply::mma_16x8x4 ? 90 : 80;
                  return !gemm_small_by_warp(c) || (wide && limits.compute_capability >= needed);
                });
  space.require("a warp's tile lies in one matrix of fixed size that is not interleaved", [=](const C& c) {
    const bool alone = s.interleave == 1 && !gemm_small_has(s, GemmSmallStep::interleaved);
    return !gemm_small_by_warp(c) || (alone && !s.sizes_vary && s.k > 0);
  });
  space.require("thread tiles are whole parts of tensor-core products", [](const C& c) {
    const int rows = c.multiply == Multiply::mma_16x8x4 ? 2 : 1;
    return !gemm_small_by_warp(c) || (c.thread_m % rows == 0 && c.thread_n % 2 == 0 && !c.columns_together);
  });
  space.require("a warp's tile is not larger than the matrix rounded up to a product", [=](const C& c) {
    const int rows = c.multiply == Multiply::mma_16x8x4 ? 16 : 8;
    return !gemm_small_by_warp(c) || (c.thread_m * gemm_small_warp_m <= gemm_small_rounded(s.m, rows) &&
                                      c.thread_n * gemm_small_warp_n <= gemm_small_rounded(s.n, 8));
  });
}

// Gaps between columns below this are loaded with the columns: they lie in sectors that are touched anyway.
constexpr std::int64_t gap_limit_bytes = 64;
// Blocks of an interleaved batch up to this are tiles or parts of them; larger ones are cut.
constexpr std::int64_t packed_block_limit = 64;

// True if the blocks of an interleaved batch are tiles or parts of them, whose places are ints in the code.
bool blocks_are_tiles(const GemmProblem& p) {
  constexpr std::int64_t most_bytes = 1 << 28;
  const auto fits = [&](std::int64_t ld, std::int64_t columns) {
    return ld <= most_bytes && ld * columns * p.block * std::int64_t(size_bytes(p.dtype)) <= most_bytes;
  };
  return p.block <= packed_block_limit && fits(p.lda, p.a_cols()) && fits(p.ldb, p.b_cols()) &&
         fits(p.ldc, p.n);
}

// Layout of the matrices of one operand, and their leading dimension if the code depends on it.
struct Lie {
  GemmSmallStep step;
  std::int64_t ld;
};

Lie lie_of(const GemmProblem& p, std::int64_t stride, std::int64_t ld, std::int64_t rows,
           std::int64_t columns) {
  switch (p.layout) {
    case Layout::interleaved:
    case Layout::block_interleaved:
      return blocks_are_tiles(p) ? Lie{GemmSmallStep::packed, ld} : Lie{GemmSmallStep::interleaved, 0};
    case Layout::pointer:
    case Layout::grouped:
      return {GemmSmallStep::pointer, ld == rows ? ld : 0};
    case Layout::variable:
      return {GemmSmallStep::pointer, 0};
    case Layout::single:
    case Layout::strided:
      break;
  }
  if (p.sums != Sums::none) return {GemmSmallStep::strided, 0};
  if (p.batch_count > 1 && stride == 0) return {GemmSmallStep::broadcast, 0};
  const bool narrow = (ld - rows) * std::int64_t(size_bytes(p.dtype)) < gap_limit_bytes;
  const bool packed = narrow && (p.batch_count == 1 || stride == ld * columns);
  return packed ? Lie{GemmSmallStep::packed, ld} : Lie{GemmSmallStep::strided, 0};
}

int interleave_of(const GemmProblem& p) {
  if (p.layout != Layout::interleaved && p.layout != Layout::block_interleaved) return 1;
  if (blocks_are_tiles(p)) return int(p.block);
  return p.block >= p.batch_count ? 0 : int(std::min<std::int64_t>(p.block & -p.block, 1024));
}

// Returns small sizes, and equal parts of a matrix.
std::vector<int> thread_sizes(int size) {
  std::vector<int> sizes = up_to(size, {1, 2, 3, 4, 5, 6, 8, 16});
  for (int parts = 2; parts <= 8; ++parts) sizes.push_back(ceil_div(size, parts));
  std::sort(sizes.begin(), sizes.end());
  sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
  return sizes;
}
// Returns the sizes with which a warp's `threads` in one direction cover whole steps of a varying size.
std::vector<int> own_thread_sizes(int size, int threads) {
  constexpr int step = 8;
  std::vector<int> sizes;
  for (int covered = step; covered <= gemm_small_rounded(size, step); covered += step)
    sizes.push_back(covered / threads);
  return sizes;
}

// Returns the bytes of the largest operand's tile, staged or not, in 64 bits: gemm_small_memory() and the
// stencil count in 32 and need tiles that fit.
std::int64_t most_tile_bytes(const GemmSmallShape& s, const GemmSmallConfig& c, int element_bytes,
                             bool only_staged) {
  const auto tile = [&](const GemmSmallOperand& o, bool counts) {
    const bool by_warps = gemm_small_rings(s, c) || s.sums != GemmSmallSums::none;
    const bool one = o.step == GemmSmallStep::broadcast || (only_staged && by_warps);
    const std::int64_t matrices = one ? 1 : c.matrices_per_block;
    return counts ? matrices * o.elements * element_bytes : 0;
  };
  const bool loads = !only_staged || !gemm_small_is_direct(c.load);
  const bool holds_c = !only_staged || c.store != GemmSmallStore::direct || gemm_small_loads_c(s, c);
  return std::max({tile(gemm_small_a(s, element_bytes), loads), tile(gemm_small_b(s, element_bytes), loads),
                   tile(gemm_small_c(s, element_bytes), holds_c)});
}

}  // namespace

std::int64_t gemm_small_largest(const GemmProblem& p) {
  return is_interleaved(p.layout) && p.sums == Sums::none ? gemm_small_interleaved_limit : gemm_small_limit;
}

GemmSmallShape gemm_small_shape(const GemmProblem& p, int align_bytes, bool scalars_vary) {
  if (const std::int64_t limit = gemm_small_largest(p); std::max({p.m, p.n, p.k}) > limit)
    throw Error(ErrorCode::unsupported, "m",
                fmt::format("m = {}, n = {}, k = {}: a size is above the limit of {}", p.m, p.n, p.k, limit));
  GemmSmallShape s;
  s.m = int(p.m);
  s.n = int(p.n);
  const bool scales_only = p.alpha == Scalar::zero && !scalars_vary && p.layout != Layout::variable;
  s.k = scales_only ? 0 : int(p.k);
  s.trans_a = p.op_a != Op::none;
  s.trans_b = p.op_b != Op::none;
  s.conj_a = p.op_a == Op::conj_trans && is_complex(p.dtype);
  s.conj_b = p.op_b == Op::conj_trans && is_complex(p.dtype);
  s.reads_c = p.beta != Scalar::zero || scalars_vary;
  const auto take = [](const Lie& lie, GemmSmallStep& step, int& ld) {
    step = lie.step;
    ld = int(lie.ld);
  };
  take(lie_of(p, p.stride_a, p.lda, p.a_rows(), p.a_cols()), s.step_a, s.lda);
  take(lie_of(p, p.stride_b, p.ldb, p.b_rows(), p.b_cols()), s.step_b, s.ldb);
  take(lie_of(p, p.stride_c, p.ldc, p.m, p.n), s.step_c, s.ldc);
  s.interleave = interleave_of(p);
  s.scalars_vary = scalars_vary;
  s.sizes_vary = p.layout == Layout::variable;
  s.align_bytes = align_bytes;
  if (p.sums == Sums::stack) s.sums = GemmSmallSums::listed;
  if (p.sums == Sums::batch_reduce) {  // into contiguous parts of its sum
    s.sums = GemmSmallSums::fixed;
    s.step_c = GemmSmallStep::strided;
    s.ldc = 0;
    s.reads_c = false;
  }
  // The places of listed matrices are unknown, and other sums are read one matrix after the other.
  if (p.sums != Sums::none) s.align_bytes = int(size_bytes(p.dtype));
  return s;
}

std::vector<int> gemm_small_thread_m(const GemmSmallShape& s) {
  return s.sizes_vary ? own_thread_sizes(s.m, gemm_small_own_m) : thread_sizes(s.m);
}
std::vector<int> gemm_small_thread_n(const GemmSmallShape& s) {
  return s.sizes_vary ? own_thread_sizes(s.n, gemm_small_own_n) : thread_sizes(s.n);
}

std::vector<int> gemm_small_tile_counts(const GemmSmallShape& s) {
  std::vector<int> counts = {1,  2,  3,  4,   5,   6,   8,   10,  12,  16,  20,  24,  32,   40,   48,
                             64, 80, 96, 128, 160, 192, 256, 320, 384, 512, 640, 768, 1024, 1536, 2048};
  const bool cut = gemm_small_has(s, GemmSmallStep::interleaved);
  if (s.interleave > 1 && !cut)
    for (int& count : counts) count *= s.interleave;
  return counts;
}

Space<GemmSmallConfig> gemm_small_space(const GemmSmallShape& s, DType dtype, const GpuLimits& limits) {
  using C = GemmSmallConfig;
  const int bytes = int(size_bytes(dtype));
  Space<C> space;
  add_load_rules(space, s, limits);
  add_store_rules(space, s, limits);
  add_multiply_rules(space, s, dtype, limits);
  if (s.sums != GemmSmallSums::none) add_sum_rules(space, s);
  space.axis(&C::matrices_per_block, gemm_small_tile_counts(s));
  space.require("tiles divide the blocks of an interleaved batch", [=](const C& c) {
    const bool cut = gemm_small_has(s, GemmSmallStep::interleaved) && s.interleave > 0;
    return !cut || s.interleave % c.matrices_per_block == 0;
  });
  space.require("the bytes of a tile are counted in 32 bits",
                [=](const C& c) { return most_tile_bytes(s, c, bytes, false) <= 1 << 30; });
  const auto stage_fits = [=](const C& c) {
    return most_tile_bytes(s, c, bytes, true) <= limits.shared_bytes_per_block;
  };
  space.require("one tile of each staged operand fits the shared memory of a block", stage_fits);
  space.axis(&C::stages, {1, 2, 3, 4, 6});
  space.require("without a load path through shared memory there is one stage",
                [](const C& c) { return !gemm_small_is_direct(c.load) || c.stages == 1; });
  space.require("a single stage cannot be loaded before its store has been read",
                [](const C& c) { return c.refill != GemmSmallRefill::at_once || c.stages > 1; });
  space.axis(&C::thread_m, gemm_small_thread_m(s));
  space.axis(&C::thread_n, gemm_small_thread_n(s));
  space.axis(&C::size_step, {8, 16, 32});
  space.require("only where sizes vary thread tiles shrink, and their columns alternate",
                [=](const C& c) { return s.sizes_vary ? !c.columns_together : c.size_step == 8; });
  // Otherwise a thread tile would reach further beyond a problem than its slot has slack.
  space.require("thread tiles shrink by whole steps", [=](const C& c) {
    return !s.sizes_vary || (c.thread_m * gemm_small_own_m % c.size_step == 0 &&
                             c.thread_n * gemm_small_own_n % c.size_step == 0);
  });
  space.require("thread tiles fit the registers of a thread",
                [=](const C& c) { return gemm_small_registers(c, dtype) <= 255; });
  space.require("stages fit the shared memory of a block", [=](const C& c) {
    return !stage_fits(c) || gemm_small_memory(s, c, bytes).total_bytes <= limits.shared_bytes_per_block;
  });
  space.axis(&C::threads, {32, 64, 96, 128, 160, 192, 256, 384, 512, 1024});
  space.require("a block has at most the threads of the device",
                [=](const C& c) { return c.threads <= limits.threads_per_block; });
  space.require("no warp of a block is without work", [=](const C& c) {
    const bool by_warps = s.sizes_vary || s.sums != GemmSmallSums::none;
    const int warps = by_warps ? c.matrices_per_block : ceil_div(gemm_small_units(s, c), 32);
    return c.threads <= 32 * std::max(1, warps);
  });
  space.require("no warp's ring is without problems", [=](const C& c) {
    const int ring_warps = c.threads / 32, share = ceil_div(c.matrices_per_block, ring_warps);
    return !gemm_small_rings(s, c) || (ring_warps - 1) * share < c.matrices_per_block;
  });
  space.require("the registers of a block exist on the device", [=](const C& c) {
    return gemm_small_registers(c, dtype) * c.threads <= limits.registers_per_multiprocessor;
  });
  add_code_axes(space, s, dtype, limits);
  return space;
}

GpuLaunch gemm_small_launch(const GemmSmallShape& s, const GemmSmallConfig& c, DType dtype,
                            std::int64_t count, const GpuLimits& limits, int blocks_per_multiprocessor) {
  const std::int64_t tiles = (count + c.matrices_per_block - 1) / c.matrices_per_block;
  const std::int64_t resident = std::int64_t(limits.multiprocessors) * std::max(1, blocks_per_multiprocessor);
  constexpr std::int64_t most_blocks = 2147483647;  // of a grid's first dimension; the stencil walks on
  return {unsigned(std::min(tiles, c.persistent ? resident : most_blocks)), unsigned(c.threads),
          unsigned(gemm_small_memory(s, c, int(size_bytes(dtype))).total_bytes)};
}

}  // namespace tilewright
