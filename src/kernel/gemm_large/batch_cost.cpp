// Predicts the cost of a batch of large GEMM. The blocks of a multiprocessor hide each other's latencies, so
// the slowest of its units decides, or the chain of one tile's steps over the blocks that are under way at
// once.
#include <algorithm>
#include <cmath>

#include "kernel/gemm_large/gemm_large.hpp"

namespace tilewright {
namespace {

using C = GemmLargeConfig;

// Clocks of a multiprocessor; fitted to 2,000 launches on an H200 (f64, f32 and c128, n = 65 to 256, 0.6 GB
// of operands): the logarithm of the time errs by 0.08 (standard deviation).
struct BatchRates {
  double multiply;     // slowdown of products
  double busy;         // rate at which warps on a scheduler keep tensor cores busy; 0: products hide all
  double begin, turn;  // of a tile until its first product, and of a stage
  double own;          // share of a tile's products that other blocks do not hide
  double hidden;       // share of the chain that a feeding warp hides
  double access;       // of one warp's copy to shared memory
  double by_threads;   // logarithm of the factor of such copies
  double unaligned;    // additional memory time of operands that are not aligned to 16 bytes
};
constexpr BatchRates tensor_rates{1.11, 2.54, 1940, 543, 0.40, 0.27, 0, 0.068, 0.28};
constexpr BatchRates plain_rates{1.21, 0, 8790, 0, 0.77, 0, 12.4, 0.07, 0.64};
constexpr double l2_bytes_per_clock = 48;  // of a multiprocessor
constexpr double store_bytes_per_clock = 33, read_c_times = 2.5;
constexpr double norm_exponent = 3;  // exponent of the norm that joins units

// Returns the bytes of device memory per clock that batches were seen to reach, at the clock they ran at.
double memory_bytes_per_clock(const GpuLimits& limits) {
  constexpr double share = 0.857, clock_share = 0.886, usual = 2400;
  return limits.memory_bytes_per_s > 0 && limits.clock_khz > 0
             ? share * limits.memory_bytes_per_s / (clock_share * 1e3 * limits.clock_khz)
             : usual;
}

// Returns the clocks of the product of one tile on a multiprocessor that holds `blocks` blocks.
double product_clocks(const GemmProblem& p, const GemmLargeShape& s, const C& c, const BatchRates& rates,
                      double blocks) {
  constexpr double multiply_adds = 128;
  const int bytes = int(size_bytes(p.dtype)), step = gemm_large_step(c, bytes);
  const double k = std::ceil(double(p.k) / step) * step, real = is_complex(p.dtype) ? 4 : 1;
  const double warps = gemm_large_warps(c), schedulers = warps * blocks / 4;
  const double uneven = std::ceil(schedulers) / schedulers;
  const double products = double(c.tile_m) * c.tile_n * k * real / multiply_adds;
  if (gemm_large_is_mma(c))
    return products * uneven * rates.multiply / (1 - std::exp(-rates.busy * schedulers)) *
           (c.product == GemmLargeProduct::mma_8x8x4 ? 2 : 1);
  const GemmLargeShape seen = gemm_large_kernel_shape(s, c);
  const auto reads = [&](const GemmLargeTile& tile, int count) {
    const GemmLargePacks packs = gemm_large_packs(c, tile, count);
    return double(count) / (packs.rows * packs.depth);
  };
  const double loads = reads(gemm_large_tile_a(seen, c, bytes), c.thread_m) +
                       reads(gemm_large_tile_b(seen, c, bytes), c.thread_n);
  const double issued = (c.thread_m * c.thread_n * real + loads) * k * warps / 4;
  return std::max(products * 1.05, issued * rates.multiply) * uneven;
}

// Returns the clocks in which a multiprocessor's threads copy the tiles of A and B.
double copy_clocks(const GemmProblem& p, const GemmLargeShape& s, const C& c, double turns, double clocks) {
  if (c.load == GemmLargeLoad::tensor) return 0;
  const GemmLargeShape seen = gemm_large_kernel_shape(s, c);
  const int bytes = int(size_bytes(p.dtype));
  const auto accesses = [&](const GemmLargeTile& tile) {
    return double(tile.rows) * tile.depth / gemm_large_reading(tile, c, 1).vector / gemm_large_lanes;
  };
  return turns * clocks *
         (accesses(gemm_large_tile_a(seen, c, bytes)) + accesses(gemm_large_tile_b(seen, c, bytes)));
}

}  // namespace

GemmLargeCost gemm_large_batch_cost(const GemmProblem& p, const GemmLargeShape& s, const C& c,
                                    const GpuLimits& limits) {
  const BatchRates& rates = gemm_large_is_mma(c) ? tensor_rates : plain_rates;
  const double bytes = double(size_bytes(p.dtype)), turns = std::ceil(double(p.k) / c.tile_k);
  const double of_problem = std::ceil(double(p.m) / c.tile_m) * std::ceil(double(p.n) / c.tile_n);
  const double tiles = std::ceil(of_problem * double(p.batch_count) / limits.multiprocessors);
  const double blocks =
      std::clamp<double>(gemm_large_resident(s, c, p.dtype, limits), 1, std::max(1.0, tiles));
  const double reads_c = s.reads_c ? 1 : 0, c_bytes = double(c.tile_m) * c.tile_n * bytes;
  const double operands =
      (double(p.m) * double(p.k) + double(p.k) * double(p.n) + double(p.m) * double(p.n) * (1 + reads_c)) *
      bytes / of_problem;
  const double threads = c.load == GemmLargeLoad::tensor ? 1 : std::exp(rates.by_threads);
  const bool aligned = std::min({s.align_a, s.align_b, s.align_c}) >= gemm_large_chunk;
  const double times = tiles * threads;
  GemmLargeCost cost;
  const double products = product_clocks(p, s, c, rates, blocks);
  cost.multiply = times * products;
  cost.memory = times * operands * limits.multiprocessors / memory_bytes_per_clock(limits) *
                (aligned ? 1 : 1 + rates.unaligned);
  cost.l2 = times * ((c.tile_m + c.tile_n) * turns * c.tile_k * bytes + c_bytes * (1 + reads_c)) /
            l2_bytes_per_clock;
  cost.issue = times * copy_clocks(p, s, c, turns, rates.access);
  const double chain = (rates.begin + rates.turn * turns + rates.own * products +
                        c_bytes / store_bytes_per_clock * (1 + read_c_times * reads_c)) *
                       (c.specialised ? 1 - rates.hidden : 1) * times / blocks;
  double sum = 0;
  for (const double unit : {cost.multiply, cost.memory, cost.l2, cost.issue, chain})
    sum += std::pow(unit, norm_exponent);
  // The rest of the whole, so that the total of the parts is what was fitted.
  cost.fixed = std::pow(sum, 1 / norm_exponent) - cost.cycles();
  return cost;
}

}  // namespace tilewright
