// The space of large GEMM on the GPU: every axis with its values, and the constraints with their reasons.
#include <algorithm>
#include <bit>

#include "kernel/gemm_large/gemm_large.hpp"

namespace tilewright {
namespace {

using C = GemmLargeConfig;

// The data of problem and device that constraints read, kept by value because a space outlives its call.
struct Rules {
  GemmProblem p;
  GemmLargeShape s;
  GpuLimits limits;
  int bytes;

  bool listed() const { return s.batch == GemmLargeBatch::listed; }
  bool whole(const C& c) const {  // of every problem
    return !listed() && p.m % c.tile_m == 0 && p.n % c.tile_n == 0 && p.k % c.tile_k == 0;
  }
  GemmLargeShape seen(const C& c) const { return gemm_large_kernel_shape(s, c); }  // by the kernel
  GemmLargeTile tile_a(const C& c) const { return gemm_large_tile_a(seen(c), c, bytes); }
  GemmLargeTile tile_b(const C& c) const { return gemm_large_tile_b(seen(c), c, bytes); }
  bool batched() const { return s.batch != GemmLargeBatch::none; }
  bool by_turns(const C& c) const {
    const GemmLargeShape shape = seen(c);
    return gemm_large_maps(c, std::min(shape.align_a, shape.align_b)) > 1;
  }
  int shared(const C& c) const { return gemm_large_memory(seen(c), c, bytes).total_bytes; }
  // Returns the config without the effect of axes that are declared later.
  static C early(C c) {
    c.stream_k = 0;
    c.sum_turns = 0;
    c.sums_in_shared = false;
    c.specialised = false;
    return c;
  }
  int registers(const C& c) const { return gemm_large_registers(early(c), p.dtype); }
  int needed_registers(const C& c) const { return gemm_large_needed_registers(early(c), p.dtype); }
  int resident(const C& c) const { return gemm_large_resident(s, early(c), p.dtype, limits); }
};

void add_product(Space<C>& space, const Rules& r) {
  const bool wide = r.p.dtype == DType::f64 || r.p.dtype == DType::c128;
  space.axis(&C::product,
             {GemmLargeProduct::mma_16x8x4, GemmLargeProduct::mma_16x8x8, GemmLargeProduct::mma_16x8x16,
              GemmLargeProduct::mma_8x8x4, GemmLargeProduct::fma});
  space.require(
      "tensor cores multiply f64 and c128 in full precision, nothing else",
      [=](const C& c) { return wide || !gemm_large_is_mma(c); }, &C::product);
  space.require(
      "mma 8x8x4 needs compute capability 8.0, the shapes of 16 rows 9.0",
      [=](const C& c) {
        if (!gemm_large_is_mma(c)) return true;
        return r.limits.compute_capability >= (c.product == GemmLargeProduct::mma_8x8x4 ? 80 : 90);
      },
      &C::product);
}

// These axes come before those that depend on how A and B lie and on their alignment.
void add_copies(Space<C>& space, const Rules& r) {
  space.axis(&C::boundary, {GemmLargeBoundary::none, GemmLargeBoundary::residue, GemmLargeBoundary::predicate,
                            GemmLargeBoundary::residue_kernel, GemmLargeBoundary::zero_padding});
  space.axis(&C::contiguous, [s = r.s](const C& c) {
    std::vector<GemmLargeContiguous> ways = {GemmLargeContiguous::as_stored};
    if (gemm_large_is_mma(c)) return ways;  // tensor cores take operands as they lie
    if (s.trans_a || !s.trans_b) ways.push_back(GemmLargeContiguous::rows);
    if (!s.trans_a || s.trans_b) ways.push_back(GemmLargeContiguous::k);
    return ways;
  });
  space.require("the matrices of a batch are read where they lie, by one launch", [=](const C& c) {
    return !r.batched() || (c.boundary != GemmLargeBoundary::residue_kernel && !gemm_large_copies(c));
  });
}

void add_load(Space<C>& space, const Rules& r) {
  space.axis(&C::load, {GemmLargeLoad::tensor, GemmLargeLoad::async, GemmLargeLoad::registers,
                        GemmLargeLoad::read_only, GemmLargeLoad::plain});
  space.require(
      "asynchronous copies need compute capability 8.0, tensor copies 9.0",
      [=](const C& c) {
        const int capability = r.limits.compute_capability;
        return c.load == GemmLargeLoad::tensor ? capability >= 90
                                               : c.load != GemmLargeLoad::async || capability >= 80;
      },
      &C::load);
  space.require(
      "tensor copies need addresses, leading dimensions and strides of batches at multiples of 16 bytes (in "
      "f64 for tensor cores 8, where single A and B have two columns), and sizes below 2^30",
      [=](const C& c) {
        if (c.load != GemmLargeLoad::tensor) return true;
        const bool may = gemm_large_is_mma(c) && r.p.dtype == DType::f64 && r.p.a_cols() > 1 &&
                         r.p.b_cols() > 1 && !r.batched();
        return (may || !r.by_turns(c)) && std::max({r.p.m, r.p.n, r.p.k}) < (1 << 30);
      },
      &C::boundary, &C::product, &C::load);
  space.require(
      "the copy engine fills with zeros at edges: nothing is checked",
      [](const C& c) {
        return c.load != GemmLargeLoad::tensor || c.boundary == GemmLargeBoundary::none ||
               c.boundary == GemmLargeBoundary::zero_padding;
      },
      &C::boundary, &C::load);
  space.axis(&C::layout, [](const C& c) -> std::vector<GemmLargeLayout> {
    if (c.load != GemmLargeLoad::tensor)
      return {GemmLargeLayout::swizzle, GemmLargeLayout::padding, GemmLargeLayout::plain};
    if (gemm_large_is_mma(c)) return {GemmLargeLayout::swizzle, GemmLargeLayout::padding};
    return {GemmLargeLayout::swizzle, GemmLargeLayout::plain};
  });
  // Padding holds the lead of columns that several maps load; tensor copies have no other use for it.
  space.require(
      "tensor copies swizzle tiles of operands that are aligned to 16 bytes, and pad those of others",
      [=](const C& c) {
        return c.load != GemmLargeLoad::tensor || (c.layout == GemmLargeLayout::padding) == r.by_turns(c);
      },
      &C::boundary, &C::load, &C::layout);
  space.require(
      "the fma product reads plain tiles with rows side by side, and tensor copies do not transpose",
      [=](const C& c) {
        const bool rows_contiguous = !r.seen(c).trans_a && r.seen(c).trans_b;
        return gemm_large_as_stored(c) || c.load != GemmLargeLoad::tensor || rows_contiguous;
      },
      &C::product, &C::load, &C::layout);
  space.axis(&C::load_bytes, [](const C& c) {
    return c.load == GemmLargeLoad::tensor ? std::vector{16} : std::vector{16, 8, 4};
  });
  space.require(
      "accesses hold whole elements and are aligned",
      [=](const C& c) { return gemm_large_aligned_loads(r.s, c, r.p.dtype); }, &C::boundary, &C::product,
      &C::load, &C::load_bytes);
}

std::vector<int> divisors(std::vector<int> values, int of) {
  std::erase_if(values, [=](int value) { return of % value != 0; });
  return values;
}

// Adds how the matrices of a batch are found.
void add_batch(Space<C>& space, const Rules& r) {
  space.require(
      "tensor copies find matrices at even distances of less than 2^40 bytes, not through arrays of "
      "addresses",
      [=](const C& c) {
        const auto distance = std::int64_t(r.bytes) * std::max(r.p.stride_a, r.p.stride_b);
        return c.load != GemmLargeLoad::tensor || !r.batched() ||
               (r.s.batch == GemmLargeBatch::strided && distance < (std::int64_t(1) << 40));
      },
      &C::load);
}

void add_tiles(Space<C>& space, const Rules& r) {
  std::vector<int> tiles{128, 256, 64, 192, 160, 144, 96, 48, 32, 16}, warps{64, 32, 128, 96, 80, 48, 16};
  std::vector<int> threads{8, 16, 4, 2, 6, 12};
  if (r.batched()) {  // one tile may hold a whole C
    tiles.insert(tiles.end(), {40, 56, 72, 80, 104, 112, 200});
    warps.insert(warps.end(), {8, 24, 40, 56, 72, 104, 112});
    threads.insert(threads.end(), {5, 10});
  }
  space.axis(&C::tile_m, tiles);
  space.axis(&C::tile_n, tiles);
  space.axis(&C::warp_m, [=](const C& c) { return divisors(warps, c.tile_m); });
  space.axis(&C::warp_n, [=](const C& c) { return divisors(warps, c.tile_n); });
  space.require(
      "tensor cores take 16 rows and columns at once, of c128 8",
      [=](const C& c) {
        const int block = r.p.dtype == DType::c128 ? 8 : 16;
        return !gemm_large_is_mma(c) || (c.warp_m % block == 0 && c.warp_n % block == 0);
      },
      &C::product, &C::warp_m, &C::warp_n);
  space.axis(&C::warps_k, {1, 2, 4});
  space.require(
      "a block has at most the threads of the device",
      [=](const C& c) { return gemm_large_workers(c) <= r.limits.threads_per_block; }, &C::tile_m, &C::tile_n,
      &C::warp_m, &C::warp_n, &C::warps_k);
  // mma has no thread tile; otherwise the thread tiles of 32 lanes make up the warp tile.
  space.axis(&C::thread_m,
             [=](const C& c) { return gemm_large_is_mma(c) ? std::vector{0} : divisors(threads, c.warp_m); });
  space.axis(&C::thread_n, [](const C& c) -> std::vector<int> {
    if (gemm_large_is_mma(c)) return {0};
    const int elements = c.warp_m * c.warp_n, rest = elements / gemm_large_lanes;
    const bool whole = c.thread_m > 0 && rest % c.thread_m == 0 && c.warp_n % (rest / c.thread_m) == 0;
    return whole && rest / c.thread_m <= 16 ? std::vector{rest / c.thread_m} : std::vector<int>{};
  });
  space.axis(&C::prefetch, {false, true});
  space.require(
      "sums and operands fit the registers of a thread",
      [=](const C& c) { return r.needed_registers(c) <= gemm_large_most_registers; }, &C::product, &C::warp_m,
      &C::warp_n, &C::thread_m, &C::thread_n, &C::prefetch);
  space.require(
      "the registers of a block exist on a multiprocessor",
      [=](const C& c) {
        return r.registers(c) * gemm_large_workers(c) <= r.limits.registers_per_multiprocessor;
      },
      &C::product, &C::tile_m, &C::tile_n, &C::warp_m, &C::warp_n, &C::warps_k, &C::thread_m, &C::thread_n,
      &C::prefetch);
}

void add_depth(Space<C>& space, const Rules& r) {
  space.axis(&C::tile_k, {16, 8, 32, 64});
  space.axis(&C::stages, [](const C& c) {
    const bool engine = c.load == GemmLargeLoad::tensor || c.load == GemmLargeLoad::async;
    return engine ? std::vector{4, 3, 2, 5, 6} : std::vector{2, 1};
  });
  space.require(
      "a tile of k holds whole steps, an even number with prefetch",
      [=](const C& c) {
        return c.tile_k % (c.warps_k * gemm_large_step(c, r.bytes)) == 0 &&
               (!c.prefetch || gemm_large_steps(c, r.bytes) % 2 == 0);
      },
      &C::product, &C::warps_k, &C::prefetch, &C::tile_k);
  space.require(
      "tensor cores take each group's part of k in whole 128-byte rows",
      [=](const C& c) {
        return c.warps_k == 1 || !gemm_large_is_mma(c) ||
               c.tile_k / c.warps_k * r.bytes % gemm_large_row == 0;
      },
      &C::product, &C::warps_k, &C::tile_k);
}

void add_edges(Space<C>& space, const Rules& r) {
  space.require(
      "without checks sizes are multiples of the tile, or the copy engine fills with zeros", [=](const C& c) {
        return c.boundary != GemmLargeBoundary::none || c.load == GemmLargeLoad::tensor || r.whole(c);
      });
  space.require("a kernel for the residue needs whole tiles and something that they leave over",
                [=](const C& c) {
                  return c.boundary != GemmLargeBoundary::residue_kernel ||
                         (!r.whole(c) && r.p.m >= c.tile_m && r.p.n >= c.tile_n && r.p.k >= c.tile_k);
                });
  space.require(
      "copies are padded where operands are not aligned to 16 bytes, or tiles do not divide and threads copy",
      [=](const C& c) {
        return c.boundary != GemmLargeBoundary::zero_padding ||
               (!r.whole(c) && c.load != GemmLargeLoad::tensor) ||
               std::min(r.s.align_a, r.s.align_b) < gemm_large_chunk;
      });
}

void add_memory(Space<C>& space, const Rules& r) {
  space.require("swizzled rows are whole 128-byte rows", [=](const C& c) {
    const auto fits = [](const GemmLargeTile& tile) {
      return tile.inner() * tile.element_bytes % gemm_large_row == 0;
    };
    return c.layout != GemmLargeLayout::swizzle || (fits(r.tile_a(c)) && fits(r.tile_b(c)));
  });
  space.require("swizzled rows of a warp tile are whole 128-byte rows or an even part of one",
                [=](const C& c) {
                  const auto fits = [&](int rows) {
                    const int bytes = rows * r.bytes;
                    return bytes % gemm_large_row == 0 || gemm_large_row % bytes == 0;
                  };
                  return gemm_large_is_mma(c) || c.layout != GemmLargeLayout::swizzle ||
                         (fits(c.warp_m) && fits(c.warp_n));
                });
  space.require("stages fit the shared memory of a block",
                [=](const C& c) { return r.shared(r.early(c)) <= r.limits.shared_bytes_per_block; });
  space.require("the sums of the other groups of warps fit the memory of the stages", [=](const C& c) {
    const int barriers = gemm_large_memory(r.seen(c), c, r.bytes).barrier_offset;
    return std::int64_t(c.warps_k - 1) * c.tile_m * c.tile_n * r.bytes <= barriers;
  });
  space.require("boxes of tensor copies have at most 256 elements a side", [=](const C& c) {
    const auto fits = [&](GemmLargeSide side) {
      const GpuTensor tensor = gemm_large_tensor(r.p, r.seen(c), c, side, nullptr, 0);
      return tensor.box_inner <= 256 && tensor.box_outer <= 256;
    };
    return c.load != GemmLargeLoad::tensor || (fits(GemmLargeSide::a) && fits(GemmLargeSide::b));
  });
  space.require(
      "columns that come by turns are in no cluster, and whole eights of a tile for each map: the second "
      "half begins at 128 bytes",
      [=](const C& c) {
        const auto fits = [&](const GemmLargeTile& tile) { return tile.map_columns() % 8 == 0; };
        return !r.by_turns(c) || (c.cluster == 1 && fits(r.tile_a(c)) && fits(r.tile_b(c)));
      });
  // Anzt 2015 asks for four per byte on a Kepler; tensor copies and 16-byte reads move the limit.
  space.require("at least one multiply-add per byte that is copied into shared memory", [=](const C& c) {
    const double products = double(c.tile_m) * c.tile_n * (is_complex(r.p.dtype) ? 4 : 1);
    return products >= double(c.tile_m + c.tile_n) * r.bytes;
  });
  space.axis(&C::blocks_per_sm, {1, 2, 3, 4});
  space.require("the blocks that registers are limited for fit a multiprocessor",
                [=](const C& c) { return c.blocks_per_sm == 1 || r.resident(c) >= c.blocks_per_sm; });
  space.axis(&C::stagger, [](const C& c) {  // if there is more than one block
    return c.blocks_per_sm > 1 ? std::vector{0, 8, 4, 2, 16} : std::vector{0};
  });
  space.require("at least four warps on a multiprocessor, one for each scheduler",
                [=](const C& c) { return r.resident(c) * gemm_large_warps(c) >= 4; });
}

void add_reading(Space<C>& space, const Rules& r) {
  // Anzt's blk_m_a x blk_n_a: the arrangement covers the tile exactly.
  const auto arrangements = [=](const GemmLargeTile& tile, const C& c) {
    std::vector<int> values{0};
    if (c.load != GemmLargeLoad::tensor)
      for (int threads = 1; threads <= 128; ++threads)
        if ((r.batched() || std::has_single_bit(unsigned(threads))) && gemm_large_workers(c) % threads == 0 &&
            gemm_large_reads_all(tile, c, threads))
          values.push_back(threads);
    return values;
  };
  space.axis(&C::read_a, [=](const C& c) { return arrangements(r.tile_a(c), c); });
  space.axis(&C::read_b, [=](const C& c) { return arrangements(r.tile_b(c), c); });
  space.require("the arrangement of threads covers the tiles of A and B exactly", [=](const C& c) {
    return c.load == GemmLargeLoad::tensor ||
           (gemm_large_reads_all(r.tile_a(c), c, c.read_a) && gemm_large_reads_all(r.tile_b(c), c, c.read_b));
  });
  space.require("at most 16 accesses of a thread to each tile", [=](const C& c) {
    if (c.load == GemmLargeLoad::tensor) return true;
    return gemm_large_reading(r.tile_a(c), c, c.read_a).accesses() <= 16 &&
           gemm_large_reading(r.tile_b(c), c, c.read_b).accesses() <= 16;
  });
  space.axis(&C::interleave, {true, false});
  space.axis(&C::shared_bytes, [=](const C& c) {  // mma reads in the order of its fragments
    std::vector<int> values{16};
    for (const int bytes : {8, 4})
      if (!gemm_large_as_stored(c) && bytes >= r.bytes) values.push_back(bytes);
    return values;
  });
  space.axis(&C::store_bytes, [=](const C&) {
    std::vector<int> values{16};
    for (const int bytes : {8, 4})
      if (bytes >= r.bytes && bytes < r.s.align_c) values.push_back(bytes);
    return values;
  });
  space.axis(&C::k_unroll, [](const C& c) {  // a stage is few instructions of tensor cores
    if (gemm_large_is_mma(c)) return std::vector{0};
    return c.prefetch ? std::vector{0, 2} : std::vector{0, 1, 2, 4, 8};
  });
  space.require("a partly unrolled stage has more steps",
                [=](const C& c) { return c.k_unroll == 0 || c.k_unroll < gemm_large_steps(c, r.bytes); });
}

void add_schedule(Space<C>& space, const Rules& r) {
  space.axis(&C::raster, {8, 4, 16, 1, 2});
  space.require("a panel of tiles is walked by whole clusters",
                [](const C& c) { return c.raster % c.cluster == 0; });
  space.axis(&C::split_k, std::vector(std::begin(gemm_large_splits), std::end(gemm_large_splits)));
  space.axis(&C::stream_k, {0, 1, 2});
  space.axis(&C::persistent, [](const C& c) {  // stream_k has a persistent grid
    return c.stream_k > 0 ? std::vector<bool>{true} : std::vector<bool>{false, true};
  });
  space.require("groups of warps that share a tile end with it: they do not walk, nor form clusters",
                [](const C& c) { return c.warps_k == 1 || (c.cluster == 1 && !gemm_large_walks(c)); });
  // Multiprocessors come in groups of 16 and 18, so that not all of them belong to a cluster of four at once.
  space.require("clusters of four do not walk: their grid would not fit the device at once",
                [](const C& c) { return c.cluster <= 2 || !gemm_large_walks(c); });
  space.require("tiles are shared by split_k or by stream_k, not by both",
                [](const C& c) { return c.split_k == 1 || c.stream_k == 0; });
  space.axis(&C::tail_k, [](const C& c) {  // of tiles that are otherwise whole, in grids that do not walk
    const bool alone = c.split_k == 1 && !gemm_large_walks(c) && c.cluster == 1;
    return alone ? std::vector{1, 2, 3, 4, 6, 8, 16, 32} : std::vector{1};
  });
  space.require("one block computes a tile of a batch: nothing shares its k, and it is in no cluster",
                [=](const C& c) {
                  return !r.batched() || (!gemm_large_shares(c) && c.warps_k == 1 && c.cluster == 1);
                });
  space.require("problems with values of their own are read by the block of each tile, which does not walk",
                [=](const C& c) { return !r.listed() || !(gemm_large_walks(c) || c.stagger > 0); });
  space.require("every part of a split tile has k to sum", [=](const C& c) {
    const int parts = std::max(c.split_k, c.tail_k);
    return parts == 1 || parts <= (r.p.k + c.tile_k - 1) / c.tile_k;
  });
}

// Adds the axes of sums that are set aside, and the room that they leave.
void add_sums(Space<C>& space, const Rules& r) {
  std::vector<int> turns = {0};
  for (int count = 1; count <= gemm_large_most_sum_turns; count *= 2) turns.push_back(count);
  space.axis(&C::sum_turns, turns);
  space.axis(&C::sums_in_shared, [](const C& c) {
    return c.sum_turns > 0 ? std::vector<bool>{false, true} : std::vector<bool>{false};
  });
  space.require("stages and sums that are set aside fit the shared memory of a block",
                [=](const C& c) { return r.shared(c) <= r.limits.shared_bytes_per_block; });
  space.require(
      "the blocks that registers are limited for, and four warps, fit a multiprocessor with sums set aside",
      [=](C c) {
        c.specialised = false;  // declared later
        const int resident = gemm_large_resident(r.s, c, r.p.dtype, r.limits);
        return c.sum_turns == 0 ||
               (resident >= (c.sums_in_shared ? c.blocks_per_sm : 1) && resident * gemm_large_warps(c) >= 4);
      });
  space.require(
      "sums, those set aside, operands, loads on their way and the walk of stream_k fit the registers of a "
      "thread",
      [=](const C& c) {
        return gemm_large_needed_registers(c, r.p.dtype) + gemm_large_held_registers(r.s, c, r.p.dtype) <=
               gemm_large_most_registers;
      });
  space.require("the registers of a block exist with sums that are set aside", [=](const C& c) {
    const int registers = gemm_large_registers(c, r.p.dtype) * gemm_large_workers(c) * c.blocks_per_sm;
    return c.sum_turns == 0 || registers <= r.limits.registers_per_multiprocessor;
  });
}

// Adds the axes of how a block is made up and launched.
void add_launch(Space<C>& space, const Rules& r) {
  space.axis(&C::specialised, [](const C& c) {
    return c.load == GemmLargeLoad::tensor ? std::vector<bool>{false, true} : std::vector<bool>{false};
  });
  space.axis(&C::slack, [](const C& c) {
    const bool turns = c.load == GemmLargeLoad::tensor && !c.specialised;
    std::vector<int> values{0};
    for (const int slack : {1, 2})
      if (turns && slack + 2 <= c.stages) values.push_back(slack);
    return values;
  });
  space.require("a block has room for the warp that feeds the copy engine",
                [=](const C& c) { return gemm_large_threads(c) <= r.limits.threads_per_block; });
  space.require("a fifth warp on a scheduler takes registers from the others", [=](const C& c) {
    const int per_scheduler = (gemm_large_threads(c) * c.blocks_per_sm + 127) / 128;
    return !c.specialised ||
           gemm_large_registers(c, r.p.dtype) <= r.limits.registers_per_multiprocessor / 128 / per_scheduler;
  });
  space.axis(&C::carveout, {-1, 100, 50});
  space.axis(&C::dependent_launch, [=](const C&) {
    return r.limits.compute_capability >= 90 ? std::vector<bool>{true, false} : std::vector<bool>{false};
  });
  space.require("the read-only path is for what no kernel writes while this one runs",
                [](const C& c) { return c.load != GemmLargeLoad::read_only || !c.dependent_launch; });
  space.axis(&C::ptxas_level, {3, 1});
}

// These axes come before those that depend on the boxes of tensor copies.
void add_cluster(Space<C>& space, const Rules& r) {
  space.axis(&C::cluster, [](const C& c) {
    return c.load == GemmLargeLoad::tensor ? std::vector{1, 2, 4} : std::vector{1};
  });
  space.require("clusters share what they fetch on devices of compute capability 9 and 10", [=](const C& c) {
    return c.cluster == 1 || (r.limits.compute_capability >= 90 && r.limits.compute_capability < 120);
  });
  space.require("every block of a cluster has columns of C",
                [=](const C& c) { return (c.cluster - 1) * std::int64_t(c.tile_n) < r.p.n; });
  space.require("each block of a cluster fetches whole panels of a tile of A, or groups of eight rows",
                [=](const C& c) {
                  const GemmLargeTile tile = r.tile_a(c);
                  return !gemm_large_splits_rows(tile, c) || tile.outer() % (8 * c.cluster) == 0;
                });
}

}  // namespace

Space<GemmLargeConfig> gemm_large_space(const GemmProblem& problem, const GemmLargeShape& shape,
                                        const GpuLimits& limits) {
  const Rules rules{problem, shape, limits, int(size_bytes(problem.dtype))};
  Space<C> space;
  add_product(space, rules);
  add_copies(space, rules);
  add_load(space, rules);
  add_batch(space, rules);
  add_tiles(space, rules);
  add_depth(space, rules);
  add_edges(space, rules);
  add_cluster(space, rules);
  add_memory(space, rules);
  add_reading(space, rules);
  add_schedule(space, rules);
  add_sums(space, rules);
  add_launch(space, rules);
  return space;
}

}  // namespace tilewright
