// Chooses the configs of batched small GEMM on the GPU to try first: loads and stores of the shape, crossed
// with thread tiles and with blocks that did well on the first tuned device, by forecast.
#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "kernel/gemm_small/gemm_small.hpp"

namespace tilewright {
namespace {

// Returns the share of a block's threads that have work, over the rounds that a tile takes.
double busy_share(const GemmSmallShape& s, const GemmSmallConfig& c) {
  // Each problem has a warp, whatever its size.
  if (s.sizes_vary || s.sums != GemmSmallSums::none) return 1;
  const int units = gemm_small_units(s, c);
  return double(units) / (ceil_div(units, c.threads) * c.threads);
}
// Returns the share of the computed elements that are elements of C.
double useful_share(const GemmSmallShape& s, const GemmSmallConfig& c) {
  if (s.sizes_vary) return 1;  // thread tiles shrink with the problem
  return double(s.m * s.n) / (gemm_small_tiles_m(s, c) * c.thread_m * gemm_small_tiles_n(s, c) * c.thread_n);
}

// Returns the slowdown by instruction fetches: if sizes vary, each thread tile is a piece of code, and warps
// run different ones. On an H200, tiles of up to 4x8 took 1.4 (f64) to 2.2 times (f32) as long as up to 4x4
// for any m and n, and as long for squares, with a fourth of the pieces.
double code_share(const GemmSmallShape& s, const GemmSmallConfig& c) {
  if (!s.sizes_vary) return 1;
  constexpr double area_at_full_speed = 60;  // of all pieces together: that of 4x4 in steps of 8
  const auto sum = [](int largest, int step) {
    int all = 0;
    for (int size = step; size < largest + step; size += step) all += std::min(size, largest);
    return all;
  };
  const int area = sum(c.thread_m, std::max(1, c.size_step / gemm_small_own_m)) *
                   sum(c.thread_n, std::max(1, c.size_step / gemm_small_own_n));
  return std::min(1.0, std::sqrt(area_at_full_speed / area));
}

// True for interleaved matrices that a block seldom stages. Their threads hold small tiles, with addresses
// and loads on their way, and blocks are small, so that no registers are spilled.
bool is_large(const GemmSmallShape& s) { return std::max({s.m, s.n, s.k}) > gemm_small_limit; }
constexpr int most_threads_of_large = 128, unroll_of_large = 2;
bool suits_large(const GemmSmallConfig& c, DType dtype) {
  constexpr int most_registers = 90, most_lines = 11;
  return gemm_small_registers(c, dtype) <= most_registers && c.thread_m + c.thread_n <= most_lines;
}

// Fills a block: problems for about `stage_bytes` of the largest operand, threads for few rounds.
struct Filling {
  int stages;
  int stage_bytes;
  int most_threads;
};

// Sets the problems by the filling, then the threads. Whole sectors keep two blocks from writing into one.
// Returns false if no legal config results.
bool fill_block(GemmSmallConfig& c, const GemmSmallShape& s, int element_bytes, const Filling& filling,
                bool whole_sectors) {
  const int largest =
      std::max({gemm_small_a(s, element_bytes).elements, gemm_small_b(s, element_bytes).elements,
                gemm_small_c(s, element_bytes).elements}) *
      element_bytes;
  c.matrices_per_block = 0;
  // Threads side by side read the same element of so many large matrices, whether or not a stage holds them.
  const int least = !is_large(s) ? 1 : filling.most_threads <= 128 ? 8 : 32;
  const bool cut = is_large(s) && gemm_small_has(s, GemmSmallStep::interleaved) && s.interleave > 0;
  for (const int count : gemm_small_tile_counts(s)) {
    GemmSmallConfig trial = c;
    trial.matrices_per_block = count;
    if (whole_sectors && !gemm_small_tiles_of(gpu_sector_bytes, s, trial, element_bytes)) continue;
    if (cut && s.interleave % count != 0) continue;
    if (c.matrices_per_block >= least && count * largest > filling.stage_bytes) break;
    c.matrices_per_block = count;
  }
  double best = 0;
  for (const int threads : {32, 64, 96, 128, 160, 192, 256, 384, 512}) {
    if (threads > filling.most_threads || (is_large(s) && threads > most_threads_of_large)) break;
    GemmSmallConfig trial = c;
    trial.threads = threads;
    const int warps = s.sizes_vary ? c.matrices_per_block : ceil_div(gemm_small_units(s, trial), 32);
    if (threads > 32 * std::max(1, warps)) break;
    // More threads hide more latency: a larger block wins unless it idles much more.
    const double worth = busy_share(s, trial) * (0.9 + 0.1 * threads / filling.most_threads);
    if (worth > best) {
      best = worth;
      c.threads = threads;
    }
  }
  return best > 0;
}

// A load and a store path, and their rating without knowledge of the block.
struct Way {
  GemmSmallLoad load;
  GemmSmallStore store;
  bool c_direct;
  double worth;
};
constexpr Way ways[] = {{GemmSmallLoad::bulk, GemmSmallStore::bulk, false, 1},
                        {GemmSmallLoad::bulk, GemmSmallStore::direct, true, 0.96},
                        {GemmSmallLoad::bulk, GemmSmallStore::shared, false, 0.95},
                        {GemmSmallLoad::bulk, GemmSmallStore::direct, false, 0.94},
                        {GemmSmallLoad::async, GemmSmallStore::bulk, false, 0.95},
                        {GemmSmallLoad::async, GemmSmallStore::shared, false, 0.93},
                        {GemmSmallLoad::async, GemmSmallStore::direct, false, 0.92},
                        {GemmSmallLoad::async, GemmSmallStore::direct, true, 0.92},
                        {GemmSmallLoad::direct, GemmSmallStore::direct, false, 0.8},
                        {GemmSmallLoad::read_only, GemmSmallStore::direct, false, 0.79}};

constexpr Filling fillings[] = {{2, 8192, 128},  {2, 8192, 256}, {2, 16384, 256}, {3, 8192, 128},
                                {3, 16384, 256}, {4, 4096, 64},  {2, 32768, 512}, {1, 8192, 128},
                                {1, 4096, 32},   {2, 4096, 32},  {3, 4096, 64},   {1, 1, 256}};

// Returns the unrolled steps of the k loop: all if that is little code, else equal parts of about eight.
int unrolled(int k, int multiply_adds) {
  constexpr int little = 1024, part = 8;
  if (k * multiply_adds <= little || k == 0) return 0;
  return ceil_div(k, ceil_div(k, part));
}

class SmallShortlist {
 public:
  SmallShortlist(const GemmSmallShape& shape, DType dtype, const GpuLimits& limits,
                 std::int64_t problem_count, bool (*wanted)(GemmSmallLoad))
      : s_(shape),
        dtype_(dtype),
        limits_(limits),
        problem_count_(problem_count),
        wanted_(wanted),
        space_(gemm_small_space(shape, dtype, limits)),
        element_bytes_(int(size_bytes(dtype))) {}

  // Considers all blocks, loads and stores for one thread tile.
  void consider(GemmSmallConfig c) {
    for (const Way& way : ways) {
      if (wanted_ != nullptr && !wanted_(way.load)) continue;
      c.load = way.load;
      c.store = way.store;
      c.c_direct = way.c_direct;
      const bool shifts = !gemm_small_is_direct(c.load) && gemm_small_has(s_, GemmSmallStep::packed);
      c.shift_bytes = shifts ? 128 : 16;
      const bool direct = gemm_small_is_direct(c.load);
      if (!allowed(c) || reads_too_often(c)) continue;
      const GemmSmallCost cost = gemm_small_cost(s_, c, dtype_);
      if (s_.sums != GemmSmallSums::none) {
        consider_sums(c, cost);
        continue;
      }
      if (gemm_small_rings(s_, c)) {
        consider_rings(c, cost, way.worth);
        continue;
      }
      for (const auto refill : {GemmSmallRefill::spare, GemmSmallRefill::late, GemmSmallRefill::at_once}) {
        if (c.store != GemmSmallStore::bulk && refill != GemmSmallRefill::late) continue;
        c.refill = refill;
        for (const Filling& filling : fillings) {
          if (direct && filling.stages > 2) continue;
          c.stages = direct ? 1 : filling.stages;
          c.persistent = c.stages > 1 || problem_count_ == 0;
          for (const bool whole_sectors : {true, false})
            if (fill_block(c, s_, element_bytes_, filling, whole_sectors)) rank_all(c, cost, way.worth);
        }
      }
    }
  }

  // A few configs of each thread tile and number of stages; for pointer batches of each load and store.
  std::vector<GemmSmallConfig> best(std::size_t count) {
    std::stable_sort(ranked_.begin(), ranked_.end(),
                     [](const Ranked& x, const Ranked& y) { return x.forecast > y.forecast; });
    // The least certain choice of pointer batches are load and store; of varying sizes, the order of blocks.
    const bool by_pointer = gemm_small_has(s_, GemmSmallStep::pointer);
    const bool of_one_size = by_pointer && !s_.sizes_vary;
    const std::size_t most_per_group = std::max<std::size_t>(2, count / 4);
    const std::size_t most_per_tile = s_.sizes_vary ? std::max<std::size_t>(2, count / 8)
                                      : by_pointer  ? 2
                                                    : 4;
    using Group = std::array<int, 4>;
    std::map<std::pair<Group, std::pair<int, int>>, std::size_t> of_tile;
    std::map<Group, std::size_t> of_group;
    std::vector<GemmSmallConfig> configs;
    for (const auto& [forecast, config] : ranked_) {
      if (configs.size() == count) break;
      const int ways_in = config.stages * 4 + int(config.load);
      const Group blocks{ways_in, config.c_direct, config.size_step, config.k_unroll};
      const Group way{int(config.load), int(config.store), config.c_direct};
      const Group ring{config.stages, int(config.refill), int(config.multiply)};
      const Group group = s_.sizes_vary ? blocks : by_pointer ? way : ring;
      std::size_t& tiles = of_tile[{of_one_size ? group : Group{}, {config.thread_m, config.thread_n}}];
      std::size_t& groups = of_group[group];
      if (tiles == most_per_tile || groups == most_per_group || !space_.contains(config) ||
          std::find(configs.begin(), configs.end(), config) != configs.end())
        continue;
      configs.push_back(config);
      ++tiles;
      ++groups;
    }
    return configs;
  }

 private:
  struct Ranked {
    double forecast;
    GemmSmallConfig config;
  };

  // True for larger matrices by pointer, which every thread would read one element at a time.
  bool reads_too_often(const GemmSmallConfig& c) const {
    constexpr int most = 8;
    // Tensor cores read each element once per warp.
    const bool once = s_.sums != GemmSmallSums::none && gemm_small_by_warp(c);
    return gemm_small_is_direct(c.load) && gemm_small_has(s_, GemmSmallStep::pointer) && s_.k > most &&
           limits_.compute_capability >= 80 && !once;
  }
  // True if shape and device support this load and store, tested with the smallest block.
  bool allowed(GemmSmallConfig c) const {
    c.matrices_per_block = gemm_small_tile_counts(s_).front();
    c.threads = 32;
    c.stages = 1;
    c.refill = GemmSmallRefill::late;
    return space_.contains(c);
  }

  // Considers warps with rings of their own: enough problems for each warp that reading the entries, for
  // which a block waits, costs little, and so few that the last blocks end together.
  void consider_rings(GemmSmallConfig c, const GemmSmallCost& cost, double worth) {
    c.refill = GemmSmallRefill::late;
    c.persistent = false;
    for (const int stages : {1, 2})
      for (const int warps : {1, 2})
        for (const int problems : {1, 2, 4, 8, 16, 32}) {
          if (problems < 8 && problem_count_ == 0) continue;
          c.stages = stages;
          c.threads = 32 * warps;
          c.matrices_per_block = problems * warps;
          rank_all(c, cost, worth);
        }
  }
  // Considers warps that walk over a list: enough products for each warp that reading the list costs little,
  // and so few that all multiprocessors have work and end together.
  void consider_sums(GemmSmallConfig c, const GemmSmallCost& cost) {
    const bool direct = gemm_small_is_direct(c.load);
    c.refill = GemmSmallRefill::late;
    c.persistent = false;
    for (const int stages : {1, 2, 3, 4})
      for (const int warps : {1, 2, 4})
        for (const int products : {1, 4, 8, 16, 32, 64}) {
          const bool fixed = s_.sums == GemmSmallSums::fixed;  // whole sums; only their number is chosen
          if ((stages == 1) != direct || fixed != (products == 1)) continue;
          if (!fixed && products < 16 && problem_count_ == 0) continue;
          c.stages = stages;
          c.threads = 32 * warps;
          c.matrices_per_block = products * warps;
          rank(c, cost, evenness(c, products));
        }
  }
  double evenness(const GemmSmallConfig& c, int products) const {
    constexpr double of_list = 1;  // in products
    const double list = products / (products + of_list);
    if (problem_count_ == 0 || s_.sums == GemmSmallSums::fixed) return list;
    const int blocks = gemm_small_blocks(s_, c, dtype_, limits_) * limits_.multiprocessors;
    const double waves = double(problem_count_) / c.matrices_per_block / blocks;
    return list * waves / std::ceil(waves);
  }

  // If sizes vary, a block is a warp or two, with registers limited for the expected blocks; blocks that
  // start as others end balance unequal problems.
  void rank_all(GemmSmallConfig c, const GemmSmallCost& cost, double worth) {
    const int words = element_bytes_ / 4, addresses = 24;
    const int needed = gemm_small_registers(c, dtype_) + addresses +
                       (c.c_direct ? c.thread_m * c.thread_n * words : 0);  // the old C is loaded early
    if (s_.sizes_vary)
      for (const int asked : {8, 12, 16, 20})
        if (asked <= gemm_small_blocks(s_, c, dtype_, limits_) &&
            asked * needed * c.threads <= limits_.registers_per_multiprocessor)
          c.blocks_per_sm = asked;
    rank(c, cost, worth);
    if (!s_.sizes_vary || c.stages > 1 || gemm_small_rings(s_, c)) return;
    c.persistent = !c.persistent;
    rank(c, cost, worth);
  }
  void rank(const GemmSmallConfig& c, const GemmSmallCost& cost, double worth) {
    if (busy_share(s_, c) < 0.6 && problem_count_ == 0) return;
    if (gemm_small_memory(s_, c, element_bytes_).total_bytes > limits_.shared_bytes_per_block) return;
    ranked_.push_back(
        {worth * code_share(s_, c) * gemm_small_forecast(s_, c, dtype_, limits_, cost, problem_count_), c});
  }

  const GemmSmallShape& s_;
  DType dtype_;
  const GpuLimits& limits_;
  std::int64_t problem_count_;
  bool (*wanted_)(GemmSmallLoad);
  Space<GemmSmallConfig> space_;
  int element_bytes_;
  std::vector<Ranked> ranked_;
};

// Returns variants of a thread tile along the axes that change its code.
std::vector<GemmSmallConfig> codes_of(GemmSmallConfig c, const GemmSmallShape& s, DType dtype) {
  c.k_unroll = unrolled(s.k, c.thread_m * c.thread_n * (is_complex(dtype) ? 4 : 1));
  if (is_large(s)) c.k_unroll = std::min(unroll_of_large, s.k);
  if (gemm_small_by_warp(c)) return {c};
  std::vector<GemmSmallConfig> codes;
  if (s.sizes_vary) {
    for (const int step : {8, 16, 32})
      for (const int unroll : {2, 4}) {
        codes.push_back(c);
        codes.back().size_step = step;
        codes.back().k_unroll = std::min(unroll, s.k);
      }
    return codes;
  }
  GemmSmallConfig together = c;
  together.columns_together = true;
  const bool better = gemm_small_cost(s, together, dtype).shared < 0.98 * gemm_small_cost(s, c, dtype).shared;
  return {better ? together : c};
}

}  // namespace

std::vector<GemmSmallConfig> gemm_small_promising(const GemmSmallShape& s, DType dtype,
                                                  const GpuLimits& limits, std::size_t count,
                                                  std::int64_t problem_count, bool (*wanted)(GemmSmallLoad)) {
  SmallShortlist list(s, dtype, limits, problem_count, wanted);
  const auto by_warp =
      limits.compute_capability >= 90 ? GemmSmallMultiply::mma_16x8x4 : GemmSmallMultiply::mma_8x8x4;
  for (const auto multiply : {GemmSmallMultiply::fma, by_warp})
    for (const int thread_m : gemm_small_thread_m(s))
      for (const int thread_n : gemm_small_thread_n(s)) {
        GemmSmallConfig c;
        c.matrices_per_block = 32;  // any count for which a warp is full
        c.thread_m = thread_m;
        c.thread_n = thread_n;
        c.multiply = multiply;
        // Tensor cores do twice as much in the same time, so more waste is acceptable.
        const double least_useful = gemm_small_by_warp(c) ? 0.4 : 0.6;
        if (useful_share(s, c) < least_useful || gemm_small_registers(c, dtype) > 168) continue;
        if (is_large(s) && !suits_large(c, dtype)) continue;
        for (const GemmSmallConfig& code : codes_of(c, s, dtype)) list.consider(code);
      }
  return list.best(count);
}

GemmSmallConfig gemm_small_default(const GemmSmallShape& s, DType dtype, const GpuLimits& limits,
                                   std::int64_t problem_count) {
  const auto promising = gemm_small_promising(s, dtype, limits, 1, problem_count);
  if (!promising.empty()) return promising.front();
  GemmSmallConfig c;  // legal everywhere: one matrix per block, read where it lies
  c.matrices_per_block = gemm_small_tile_counts(s).front();
  c.threads = 32;
  c.load = GemmSmallLoad::direct;
  c.store = GemmSmallStore::direct;
  c.stages = 1;
  c.persistent = false;
  c.thread_m = gemm_small_thread_m(s).front();
  c.thread_n = gemm_small_thread_n(s).front();
  return c;
}

}  // namespace tilewright
