// Chooses the configs of large GEMM to try first: listed tiles, crossed with loads and schedules, by cost.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <span>
#include <tuple>

#include "kernel/gemm_large/gemm_large.hpp"

namespace tilewright {
namespace {

using C = GemmLargeConfig;

struct Tiling {
  int tile_m, tile_n, warp_m, warp_n, thread_m = 0, thread_n = 0;
};

std::span<const Tiling> tilings(DType dtype, bool mma) {
  static constexpr Tiling tensor_real[] = {
      {128, 128, 32, 64}, {128, 128, 64, 32}, {128, 64, 32, 32}, {64, 128, 32, 32}, {64, 64, 32, 32},
      {128, 160, 32, 80}, {256, 64, 64, 32},  {64, 256, 32, 64}, {128, 96, 32, 48}, {96, 128, 48, 32},
      {96, 96, 48, 48},   {128, 64, 64, 32},  {64, 128, 32, 64}, {64, 64, 32, 16},  {256, 32, 64, 32},
      {32, 256, 32, 64},  {256, 16, 64, 16},  {16, 256, 16, 64}, {64, 32, 32, 16},  {32, 64, 16, 32},
      {32, 32, 16, 16},   {192, 64, 48, 32},  {64, 192, 32, 48}, {160, 96, 80, 48}, {144, 128, 48, 32},
      {128, 144, 32, 48}, {48, 64, 48, 16},   {64, 48, 16, 48}};
  static constexpr Tiling tensor_complex[] = {{64, 64, 32, 32},  {128, 64, 32, 32}, {64, 128, 32, 32},
                                              {64, 64, 32, 16},  {64, 32, 32, 16},  {32, 64, 16, 32},
                                              {32, 32, 16, 16},  {96, 64, 48, 16},  {128, 32, 32, 32},
                                              {128, 16, 32, 16}, {16, 128, 16, 32}};
  static constexpr Tiling plain_f32[] = {
      {128, 256, 64, 64, 8, 16}, {256, 128, 64, 64, 16, 8}, {256, 128, 64, 64, 8, 16},
      {128, 128, 32, 64, 8, 8},  {128, 128, 64, 32, 8, 8},  {128, 128, 64, 64, 8, 16},
      {128, 64, 32, 32, 8, 4},   {64, 128, 64, 32, 8, 8},   {64, 64, 32, 32, 8, 4},
      {64, 64, 32, 32, 4, 8},    {256, 64, 64, 32, 8, 8},   {64, 256, 32, 64, 8, 8},
      {128, 96, 64, 48, 16, 6},  {64, 32, 32, 16, 4, 4},    {32, 32, 16, 16, 4, 2},
      {256, 32, 64, 32, 8, 8},   {256, 16, 64, 16, 8, 4},   {32, 256, 32, 64, 8, 8},
      {16, 256, 16, 64, 4, 8},   {128, 32, 64, 16, 8, 4},   {192, 128, 96, 32, 12, 8}};
  static constexpr Tiling plain_wide[] = {
      {128, 64, 64, 32, 8, 8}, {64, 128, 32, 64, 8, 8}, {128, 128, 64, 32, 8, 8}, {64, 64, 32, 32, 8, 4},
      {64, 64, 32, 32, 4, 8},  {64, 64, 32, 16, 4, 4},  {128, 64, 32, 32, 8, 4},  {64, 32, 32, 16, 4, 4},
      {32, 32, 16, 16, 4, 2},  {256, 32, 64, 32, 8, 8}, {32, 256, 32, 64, 8, 8},  {256, 16, 64, 16, 8, 4},
      {128, 96, 64, 48, 8, 12}};
  if (mma) return dtype == DType::c128 ? std::span<const Tiling>(tensor_complex) : tensor_real;
  return dtype == DType::f32 ? std::span<const Tiling>(plain_f32) : plain_wide;
}

// Ranks configs by predicted cost; takes a few of each kind before more of any.
class LargeShortlist {
 public:
  LargeShortlist(const GemmProblem& problem, const GemmLargeShape& shape, const GemmLargeDevice& device)
      : p_(problem),
        s_(shape),
        device_(device),
        space_(gemm_large_accurate_space(problem, shape, device)),
        legal_(gemm_large_space(problem, shape, device)) {}

  void consider(C c, double penalty) {
    c.sum_turns = 0;
    c.sums_in_shared = false;
    c.sum_turns = gemm_large_sum_turns(p_, c, device_);
    const auto usable = [&] {
      return !gemm_large_known_to_spill(c, s_, p_.dtype, device_) && space_.contains(c);
    };
    // If registers lack room for the sums, shared memory may have it, perhaps with fewer stages.
    if (c.sum_turns > 0 && !usable() && legal_without_sums(c)) {
      c.sums_in_shared = true;
      while (c.stages > 2 && !usable()) {
        --c.stages;
        c.slack = std::min(c.slack, c.stages - 2);
      }
    }
    if (!usable()) return;
    const double cycles = gemm_large_cost(p_, s_, c, device_).cycles();
    ranked_.push_back({cycles * gemm_large_correction(c, s_, device_.of(p_.dtype).corrections) * penalty, c});
  }

  std::vector<C> best(std::size_t count) {
    std::stable_sort(ranked_.begin(), ranked_.end(),
                     [](const Ranked& x, const Ranked& y) { return x.cost < y.cost; });
    const std::size_t per_kind = std::max<std::size_t>(1, count / 20);
    std::map<std::tuple<int, int, int, int, int, int, GemmLargeProduct, GemmLargeLoad, int, int,
                        GemmLargeContiguous, bool, bool, int>,
             std::size_t>
        taken;
    std::vector<C> configs;
    // At most half of them walk or share tails: the model does not know what that costs in registers.
    std::size_t elaborate = 0;
    const auto take = [&](bool any) {
      for (const auto& [cost, c] : ranked_) {
        if (configs.size() == count) break;
        if (std::find(configs.begin(), configs.end(), c) != configs.end()) continue;
        const int schedule = c.tail_k > 1 ? 3 : c.split_k > 1 || c.stream_k > 0 ? 2 : c.persistent ? 1 : 0;
        const auto kind = std::tuple(c.tile_m, c.tile_n, c.tile_k, c.warp_m, c.warps_k, c.thread_m, c.product,
                                     c.load, schedule, c.cluster, c.contiguous, c.prefetch, c.stagger > 0,
                                     c.ptxas_level == 1 ? c.k_unroll : 0);
        const bool more = gemm_large_walks(c) || c.tail_k > 1;
        if (!any && (++taken[kind] > per_kind || (more && 2 * elaborate >= count + 1))) continue;
        configs.push_back(c);
        elaborate += more ? 1 : 0;
      }
    };
    take(false);
    take(true);
    return configs;
  }

 private:
  struct Ranked {
    double cost;
    C config;
  };
  bool legal_without_sums(C c) const {
    c.sum_turns = 0;
    return legal_.contains(c);
  }

  const GemmProblem& p_;
  const GemmLargeShape& s_;
  const GemmLargeDevice& device_;
  Space<C> space_, legal_;
  std::vector<Ranked> ranked_;
};

// Returns the loads that device and alignment allow, the best first.
std::vector<C> ways_in(const GemmProblem& p, const GemmLargeShape& s, const GpuLimits& limits, bool mma) {
  C c;
  c.product = mma ? GemmLargeProduct::mma_8x8x4 : GemmLargeProduct::fma;
  c.dependent_launch = limits.compute_capability >= 90;
  std::vector<C> ways;
  const bool aligned = std::min(s.align_a, s.align_b) >= 16;
  if (limits.compute_capability >= 90) {
    const bool rows_contiguous = !s.trans_a && s.trans_b, k_contiguous = s.trans_a && !s.trans_b;
    c.load = GemmLargeLoad::tensor;
    c.layout = mma || !rows_contiguous ? GemmLargeLayout::swizzle : GemmLargeLayout::plain;
    // Unaligned operands are copied, or in f64 their columns are loaded alternately by several maps.
    c.boundary = aligned ? GemmLargeBoundary::none : GemmLargeBoundary::zero_padding;
    ways.push_back(c);
    if (!aligned && mma && p.dtype == DType::f64) {
      C by_turns = c;
      by_turns.boundary = GemmLargeBoundary::none;
      by_turns.layout = GemmLargeLayout::padding;
      ways.push_back(by_turns);
    }
    // Copies that rearrange the operands into the layout that multiply-adds read best.
    const auto add_copies = [&](GemmLargeContiguous contiguous, GemmLargeLayout layout) {
      C copied = c;
      copied.contiguous = contiguous;
      copied.layout = layout;
      ways.push_back(copied);
    };
    if (!mma && !rows_contiguous) add_copies(GemmLargeContiguous::rows, GemmLargeLayout::plain);
    if (p.dtype == DType::c64 && !k_contiguous) add_copies(GemmLargeContiguous::k, GemmLargeLayout::swizzle);
  }
  c.load = limits.compute_capability >= 80 ? GemmLargeLoad::async : GemmLargeLoad::registers;
  c.layout = mma ? GemmLargeLayout::swizzle : GemmLargeLayout::padding;
  c.boundary = GemmLargeBoundary::residue;
  while (c.load_bytes > 4 && !gemm_large_aligned_loads(s, c, p.dtype)) c.load_bytes /= 2;
  ways.push_back(c);
  return ways;
}

std::vector<GemmLargeProduct> products(const GemmProblem& p, const GpuLimits& limits) {
  const bool wide = p.dtype == DType::f64 || p.dtype == DType::c128;
  if (!wide || limits.compute_capability < 80) return {GemmLargeProduct::fma};
  if (limits.compute_capability < 90) return {GemmLargeProduct::mma_8x8x4};
  // In the sweep of f64 configs on H200s (docs/notebook.md) the shallow shape, which moves
  // its sums more often, took 3 % more time at the power limit. Complex tiles are too shallow for the others.
  if (p.dtype == DType::c128)
    return {GemmLargeProduct::mma_16x8x4, GemmLargeProduct::mma_16x8x8, GemmLargeProduct::mma_16x8x16};
  return {GemmLargeProduct::mma_16x8x8, GemmLargeProduct::mma_16x8x16, GemmLargeProduct::mma_16x8x4};
}

// Unrolled steps of a stage if multiply-adds keep the order of the source (c64 and f32, n = 1024 to 4096).
int kept_unroll(const C& c, DType dtype) { return c.warps_k > 1 || !is_complex(dtype) ? 4 : 2; }

// Returns the parts of k worth trying, ascending: doublings, and those that fill the device once or twice.
std::vector<int> splits_of(double tiles, const GpuLimits& limits) {
  std::vector<int> splits;
  for (std::size_t i = 1; i < std::size(gemm_large_splits); ++i) {
    const int split = gemm_large_splits[i];
    const double next = i + 1 < std::size(gemm_large_splits) ? gemm_large_splits[i + 1] : 2 * split;
    const auto fills = [&](double waves) {
      const double wanted = waves * limits.multiprocessors / tiles;
      return split <= wanted && wanted < next;
    };
    if (split == 3 || std::has_single_bit(unsigned(split)) || fills(1) || fills(2)) splits.push_back(split);
  }
  return splits;
}

// Considers two groups of warps if a multiprocessor has at most one tile (or part) of few warps.
void consider_groups(LargeShortlist& list, C c, const GemmProblem& p, const GpuLimits& limits, double tiles) {
  const int most_warps = gemm_large_is_mma(c) ? 4 : 8;
  if (tiles * c.split_k > limits.multiprocessors || gemm_large_warps(c) > most_warps) return;
  c.warps_k = 2;
  if (c.ptxas_level == 1) c.k_unroll = kept_unroll(c, p.dtype);
  list.consider(c, 1);
  c.tile_k *= 2;
  list.consider(c, 1);
}

// Considers shared k if tiles alone do not fill the device.
void consider_schedules(LargeShortlist& list, C c, const GemmProblem& p, const GpuLimits& limits,
                        bool only_one) {
  const double tiles = double((p.m + c.tile_m - 1) / c.tile_m) * double((p.n + c.tile_n - 1) / c.tile_n);
  c.raster = tiles > 4.0 * limits.multiprocessors ? 8 : 4;
  list.consider(c, 1);
  consider_groups(list, c, p, limits, tiles);
  if (tiles < 2.0 * limits.multiprocessors)
    for (const int split : splits_of(tiles, limits)) {
      if (double(p.k) / (split * c.tile_k) < 4) break;
      C shared = c;
      shared.split_k = split;
      list.consider(shared, 1);
      consider_groups(list, shared, p, limits, tiles);
    }
  // Splits the last wave's tiles if more than 2 % of the launch would idle. An only choice must not lack
  // registers: f64 has been measured for all operations.
  const double waves = tiles / limits.multiprocessors;
  const bool proven = gemm_large_is_mma(c) && p.dtype == DType::f64 && limits.compute_capability == 90;
  if ((proven || !only_one) && waves > 1 && std::ceil(waves) > 1.02 * waves)
    for (const int parts : {2, 3, 4, 6, 8, 16, 32}) {
      C tail = c;
      tail.tail_k = parts;
      if (double(p.k) / (parts * c.tile_k) >= 4) list.consider(tail, 1);
    }
  if (tiles > 1.2 * limits.multiprocessors) {
    C walking = c;
    walking.persistent = true;
    list.consider(walking, 1);
  }
  if (p.k >= 16 * c.tile_k && tiles >= 8) {
    c.stream_k = tiles > 2.0 * limits.multiprocessors ? 2 : 1;
    c.persistent = true;
    list.consider(c, 1);
  }
}

// Returns the initial unrolled steps of a stage: as much code as the instruction caches hold.
int usual_unroll(const C& c, DType dtype) {
  if (c.prefetch || gemm_large_is_mma(c)) return 0;
  const int bytes = int(size_bytes(dtype)), steps = gemm_large_steps(c, bytes);
  const int products =
      c.warp_m * c.warp_n / gemm_large_lanes * gemm_large_step(c, bytes) * (is_complex(dtype) ? 4 : 1);
  // Longer runs of complex multiply-adds wait less for registers (0.84, not 0.81, of the peak).
  const int most_products = is_complex(dtype) ? 2100 : 1100;
  for (const int unroll : {8, 4, 2})
    if (unroll < steps && unroll * products <= most_products) return unroll;
  return steps * products <= most_products || steps == 1 ? 0 : 1;
}

// Returns the config with multiply-adds in source order in deep tiles, with as many stages as fit.
C in_order(C c, DType dtype, const GemmLargeShape& shape, const GpuLimits& limits) {
  c.ptxas_level = 1;
  c.k_unroll = kept_unroll(c, dtype);
  c.tile_k = 32;
  const int bytes = int(size_bytes(dtype));
  const int stage = gemm_large_memory(gemm_large_kernel_shape(shape, c), c, bytes).stage_bytes;
  const int room = limits.shared_bytes_per_multiprocessor / (gemm_large_warps(c) <= 4 ? 2 : 1);
  std::tie(c.stages, c.slack) = std::tuple(std::clamp(room / stage, 2, 4), 0);
  return c;
}

// Considers multiply-adds in source order, which wait less for registers
// (docs/notebook.md).
void consider_kept_order(LargeShortlist& list, C c, DType dtype, double penalty) {
  if (c.prefetch) return;  // the assembler rearranges its long runs at any level
  c.ptxas_level = 1;
  for (const int unroll : {2, 4, 8}) {
    c.k_unroll = unroll;
    list.consider(c, penalty * (unroll == kept_unroll(c, dtype) ? 1 : 1.002));
  }
}

// Considers the same tiles and schedule with other products, depths, stages and prefetching, and for
// transposing copies also loads through registers.
void vary(LargeShortlist& list, const C& base, const GemmProblem& p,
          const std::vector<GemmLargeProduct>& all) {
  constexpr std::int64_t short_k = 128;  // up to this k, stores take enough time for staggered blocks to pay
  for (const GemmLargeProduct product : all)
    for (const int tile_k : {base.tile_k, 2 * base.tile_k})
      for (const bool prefetch : {base.prefetch, !base.prefetch})
        for (const int stages : {base.stages, 3, 5, 2})
          for (const int blocks : {1, 2, 3}) {
            C c = base;
            std::tie(c.product, c.tile_k, c.prefetch) = std::tuple(product, tile_k, prefetch);
            std::tie(c.stages, c.blocks_per_sm) = std::tuple(stages, blocks);
            c.k_unroll = c.ptxas_level == 1 && !prefetch ? kept_unroll(c, p.dtype) : usual_unroll(c, p.dtype);
            if (stages == 2 && product == GemmLargeProduct::fma && base.load == GemmLargeLoad::async)
              c.load = GemmLargeLoad::registers;
            const double depth_penalty = gemm_large_is_mma(c) ? 0.995 : 1.002;
            const double penalty = (stages == base.stages ? 1 : 1.005) *
                                   (tile_k == base.tile_k ? 1 : depth_penalty) * (blocks == 1 ? 1 : 1.001) *
                                   (prefetch == base.prefetch ? 1 : 1.001);
            list.consider(c, penalty);
            if (blocks > 1 && p.k <= short_k)
              for (const int stagger : {8, 4}) {
                C apart = c;
                apart.stagger = stagger;
                list.consider(apart, penalty * (stagger == 8 ? 1 : 1.001));
              }
            if (!gemm_large_is_mma(c) && base.ptxas_level != 1)
              consider_kept_order(list, c, p.dtype, penalty);
            for (const int unroll : {c.k_unroll / 2, 2 * c.k_unroll, 0, c.prefetch ? 2 : 0}) {
              C rolled = c;
              rolled.k_unroll = unroll;
              if (unroll != c.k_unroll) list.consider(rolled, penalty * 1.001);
            }
            if (c.load == GemmLargeLoad::tensor && stages > (p.dtype == DType::c128 ? 2 : 3)) {
              C slack = c;
              slack.slack = 1;
              list.consider(slack, penalty * (prefetch || product != GemmLargeProduct::fma ? 1.001 : 0.99));
            }
            if (c.load == GemmLargeLoad::tensor && tile_k == base.tile_k && prefetch == base.prefetch) {
              C fed = c;
              fed.specialised = true;
              list.consider(fed, penalty * 1.002);
              c.cluster = 2;
              list.consider(c, penalty);
            }
          }
}

// Returns the initial depths of a tile.
std::vector<int> depths(const C& c, DType dtype) {
  const bool mma = gemm_large_is_mma(c), wide = dtype == DType::f64 || dtype == DType::c128;
  // Multiply-adds need swizzled rows that are whole rows of banks.
  if (!mma && c.layout == GemmLargeLayout::swizzle) return {gemm_large_row / int(size_bytes(dtype))};
  // Deeper tiles are faster (shallow_turns_mma of the corrections), but large tiles leave no room for them.
  if (mma && dtype == DType::c128) return {8, 16};
  // f32 took 6 % (192x128, n = 8192) to 12 % (n = 1000) longer in tiles of k = 8; c64, too, prefers 16. f64
  // and c128 without tensor cores are not measured.
  return {wide && !mma ? 8 : 16};
}

// Considers tiles with a load, and with suitable stages and unrolling.
void consider_tiling(LargeShortlist& tiles, C c, const GemmProblem& p, const GemmLargeShape& s,
                     const GpuLimits& limits, bool only_one) {
  std::tie(c.stages, c.slack) = std::tuple(c.load == GemmLargeLoad::registers ? 2 : 4, 0);
  if (gemm_large_known_to_spill(c, s, p.dtype, limits)) std::tie(c.stages, c.slack) = std::tuple(3, 1);
  c.k_unroll = usual_unroll(c, p.dtype);
  consider_schedules(tiles, c, p, limits, only_one);
  if (!c.prefetch) return;
  // Prefetching takes registers that large thread tiles lack.
  C plain = c;
  plain.prefetch = false;
  plain.k_unroll = usual_unroll(plain, p.dtype);
  consider_schedules(tiles, plain, p, limits, only_one);
  // Nothing is known about other devices.
  if (limits.compute_capability != 90) return;
  if (p.dtype == DType::c64 || (p.dtype == DType::f32 && gemm_large_warps(plain) <= 4))
    consider_schedules(tiles, in_order(plain, p.dtype, s, limits), p, limits, only_one);
}

// Returns a config that is legal everywhere: plain loads of single elements.
C legal_everywhere(DType dtype) {
  C c;
  const bool largest = dtype == DType::c128;  // larger thread tiles of c128 spill
  c.tile_m = c.tile_n = 64;
  c.tile_k = 8;
  c.warp_m = 32;
  c.warp_n = largest ? 16 : 32;
  c.thread_m = largest ? 4 : 8;
  c.thread_n = 4;
  c.product = GemmLargeProduct::fma;
  c.load = GemmLargeLoad::plain;
  c.load_bytes = int(size_bytes(dtype));
  c.layout = GemmLargeLayout::padding;
  c.stages = 1;
  c.boundary = GemmLargeBoundary::predicate;
  return c;
}

// Returns the quarter of an octave that a size is in.
int cell(std::int64_t size) {
  return int(std::floor(4 * std::log2(double(std::max<std::int64_t>(1, size)))));
}

// Returns a key of the properties that decide which configs are legal, and of the problem's approximate size.
std::string key_of(const GemmProblem& p, const GemmLargeShape& s) {
  // The dimensions of most tiles: if they divide the sizes, configs without checks are legal.
  constexpr std::int64_t usual_tile = 128, usual_depth = 16;
  return fmt::format("{} {}{}{}{}{} {} {} {} {} {} {} {} {} {}{}{} {}", int(p.dtype), int(s.trans_a),
                     int(s.trans_b), int(s.conj_a), int(s.conj_b), int(s.reads_c), s.align_a, s.align_b,
                     s.align_c, int(s.math), int(s.batch), cell(p.m), cell(p.n), cell(p.k),
                     int(p.m % usual_tile == 0), int(p.n % usual_tile == 0), int(p.k % usual_depth == 0),
                     cell(p.batch_count));
}

}  // namespace

std::vector<GemmLargeConfig> gemm_large_promising(const GemmProblem& p, const GemmLargeShape& s,
                                                  const GemmLargeDevice& device, std::size_t count) {
  if (s.batch != GemmLargeBatch::none) return gemm_large_batch_promising(p, s, device, count);
  // Rank the tilings with one kind of ring each, then variations of the best of them.
  LargeShortlist tiles(p, s, device);
  const std::vector<GemmLargeProduct> all = products(p, device);
  const bool mma = all.front() != GemmLargeProduct::fma, only_one = count == 1;
  for (C c : ways_in(p, s, device, mma)) {
    c.product = all.front();
    c.prefetch = !mma && c.layout != GemmLargeLayout::swizzle;
    for (const Tiling& t : tilings(p.dtype, mma)) {
      const bool twelve_warps = t.tile_m * t.tile_n == 12 * t.warp_m * t.warp_n;
      if (only_one && mma && twelve_warps) continue;  // the first choice must not spill
      std::tie(c.tile_m, c.tile_n, c.warp_m, c.warp_n) = std::tuple(t.tile_m, t.tile_n, t.warp_m, t.warp_n);
      std::tie(c.thread_m, c.thread_n) = std::tuple(t.thread_m, t.thread_n);
      for (const int tile_k : depths(c, p.dtype)) {
        c.tile_k = tile_k;
        consider_tiling(tiles, c, p, s, device, only_one);
      }
    }
  }
  std::vector<C> best = tiles.best(std::max<std::size_t>(only_one ? 1 : 12, count / 3));
  if (best.empty() || only_one) return best;
  LargeShortlist list(p, s, device);
  for (const C& base : best) vary(list, base, p, all);
  return list.best(count);
}

std::vector<GemmLargeConfig> gemm_large_defaults(const GemmProblem& p, const GemmLargeShape& s,
                                                 const GemmLargeDevice& device) {
  std::vector<GemmLargeConfig> configs = {gemm_large_default(p, s, device)};
  const std::vector<C> promising = gemm_large_promising(p, s, device, 24);
  // Copies need memory, which may not be available.
  const auto frugal =
      std::find_if(promising.begin(), promising.end(), [](const C& c) { return !gemm_large_copies(c); });
  if (gemm_large_copies(configs.front()) && frugal != promising.end()) configs.push_back(*frugal);
  configs.insert(configs.end(), promising.begin(),
                 promising.begin() + std::min<std::ptrdiff_t>(6, std::ssize(promising)));
  configs.push_back(legal_everywhere(p.dtype));
  return configs;
}

GemmLargeConfig gemm_large_default(const GemmProblem& p, const GemmLargeShape& s,
                                   const GemmLargeDevice& device) {
  const auto promising = gemm_large_promising(p, s, device, 1);
  return promising.empty() ? legal_everywhere(p.dtype) : promising.front();
}

GemmLargeConfig GemmLargeNear::find(const GemmProblem& p, const GemmLargeShape& s,
                                    const GemmLargeDevice& device) {
  const std::string key = key_of(p, s);
  if (const auto known = known_.find(key))
    if (gemm_large_accurate_space(p, s, device).contains(*known)) return *known;
  const GemmLargeConfig own = gemm_large_default(p, s, device);
  known_.add(key, std::make_shared<const GemmLargeConfig>(own));
  return own;
}

}  // namespace tilewright
