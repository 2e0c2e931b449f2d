// The space of batched small GEMM on the GPU with the reasons of its constraints, the choice of what to try
// first, and the geometry of a launch.
#include "kernel/gemm_small.hpp"

#include <algorithm>
#include <map>

#include "kernel/gpu_stencil.hpp"

namespace tilewright {
namespace {

constexpr int sector_bytes = 32;

std::vector<int> up_to(int size, std::initializer_list<int> values) {
  std::vector<int> result;
  for (const int value : values)
    if (value < size) result.push_back(value);
  result.push_back(size);
  std::sort(result.begin(), result.end());
  return result;
}

// Registers that a thread needs at least: its sums, one step's operands, addresses.
int registers_needed(const GemmSmallConfig& c, DType dtype) {
  const int words = static_cast<int>(size_bytes(dtype)) / 4;
  return (c.thread_m * c.thread_n + c.thread_m + c.thread_n) * words + 24;
}

// Share of a block's threads that have work, over the rounds that a tile takes.
double busy_share(const GemmSmallShape& s, const GemmSmallConfig& c) {
  const int units = gemm_small_units(s, c);
  return double(units) / (ceil_div(units, c.threads) * c.threads);
}
// Share of the computed elements that are elements of C.
double useful_share(const GemmSmallShape& s, const GemmSmallConfig& c) {
  return double(s.m * s.n) / (gemm_small_tiles_m(s, c) * c.thread_m * gemm_small_tiles_n(s, c) * c.thread_n);
}

// Warps that a multiprocessor holds of this config; they hide each other's latency.
double resident_warps(const GemmSmallShape& s, const GemmSmallConfig& c, DType dtype,
                      const GpuLimits& limits) {
  const int shared = gemm_small_memory(s, c, static_cast<int>(size_bytes(dtype))).total_bytes;
  const int blocks =
      std::min({limits.shared_bytes_per_multiprocessor / (shared + limits.shared_bytes_reserved),
                limits.registers_per_multiprocessor / (registers_needed(c, dtype) * c.threads),
                limits.threads_per_multiprocessor / c.threads, 32});
  return double(std::max(1, blocks)) * c.threads / 32;
}

// Whether tiles of all operands begin and end at multiples of `piece` bytes.
bool tiles_of(int piece, const GemmSmallShape& s, const GemmSmallConfig& c, int element_bytes) {
  const auto fits = [&](GemmSmallStep step, int elements) {
    return step == GemmSmallStep::broadcast || elements * c.matrices_per_block * element_bytes % piece == 0;
  };
  return fits(s.step_a, s.m * s.k) && fits(s.step_b, s.k * s.n) && fits(s.step_c, s.m * s.n);
}

// The axes that change the code of a block and not what it does.
void add_code_axes(Space<GemmSmallConfig>& space, const GemmSmallShape& s, DType dtype,
                   const GpuLimits& limits) {
  using C = GemmSmallConfig;
  const int bytes = static_cast<int>(size_bytes(dtype));
  space.axis(&C::columns_together, {false, true});
  space.axis(&C::k_unroll, up_to(s.k, {0, 4, 8, 16}));
  space.axis(&C::persistent, {true, false});
  space.require("a ring of stages needs a block that walks over tiles",
                [](const C& c) { return c.persistent || c.stages == 1; });
  space.axis(&C::blocks_per_sm, {0, 1, 2, 3, 4, 6, 8});
  space.require("the blocks that registers are limited for fit the device", [=](const C& c) {
    return c.blocks_per_sm * c.threads <= limits.threads_per_multiprocessor &&
           c.blocks_per_sm * (gemm_small_memory(s, c, bytes).total_bytes + limits.shared_bytes_reserved) <=
               limits.shared_bytes_per_multiprocessor &&
           c.blocks_per_sm * c.threads * registers_needed(c, dtype) <= limits.registers_per_multiprocessor;
  });
}

void add_load_rules(Space<GemmSmallConfig>& space, const GemmSmallShape& s, const GpuLimits& limits) {
  using C = GemmSmallConfig;
  const bool packed = s.step_a != GemmSmallStep::strided && s.step_b != GemmSmallStep::strided &&
                      s.step_c != GemmSmallStep::strided;
  space.axis(&C::load, {GemmSmallLoad::bulk, GemmSmallLoad::async, GemmSmallLoad::direct});
  space.require("bulk copies need compute capability 9.0",
                [=](const C& c) { return c.load != GemmSmallLoad::bulk || limits.compute_capability >= 90; });
  space.require("asynchronous copies need compute capability 8.0", [=](const C& c) {
    return c.load != GemmSmallLoad::async || limits.compute_capability >= 80;
  });
  space.require("bulk copies need packed or broadcast operands at multiples of 16 bytes",
                [=](const C& c) { return c.load != GemmSmallLoad::bulk || (packed && s.align_bytes >= 16); });
  space.axis(&C::store, {GemmSmallStore::bulk, GemmSmallStore::shared, GemmSmallStore::direct});
  space.require(
      "bulk stores need compute capability 9.0 and a packed C at multiples of 16 bytes", [=](const C& c) {
        return c.store != GemmSmallStore::bulk ||
               (limits.compute_capability >= 90 && s.align_bytes >= 16 && s.step_c == GemmSmallStep::packed);
      });
  space.require("operands that are read directly need no staged store", [](const C& c) {
    return c.load != GemmSmallLoad::direct || c.store == GemmSmallStore::direct;
  });
}

}  // namespace

GemmSmallShape gemm_small_shape(const GemmProblem& p, int align_bytes) {
  if (std::max({p.m, p.n, p.k}) > gemm_small_limit)
    throw Error(ErrorCode::unsupported, "m",
                fmt::format("m = {}, n = {}, k = {}: a size is above the limit of {}", p.m, p.n, p.k,
                            gemm_small_limit));
  GemmSmallShape s;
  s.m = static_cast<int>(p.m);
  s.n = static_cast<int>(p.n);
  s.k = static_cast<int>(p.k);
  s.trans_a = p.op_a != Op::none;
  s.trans_b = p.op_b != Op::none;
  s.conj_a = p.op_a == Op::conj_trans && is_complex(p.dtype);
  s.conj_b = p.op_b == Op::conj_trans && is_complex(p.dtype);
  s.reads_c = p.beta != Scalar::zero;
  const auto step = [&](std::int64_t stride, std::int64_t ld, std::int64_t rows, std::int64_t cols) {
    if (p.batch_count > 1 && stride == 0) return GemmSmallStep::broadcast;
    const bool packed = ld == rows && (p.batch_count == 1 || stride == rows * cols);
    return packed ? GemmSmallStep::packed : GemmSmallStep::strided;
  };
  s.step_a = step(p.stride_a, p.lda, p.a_rows(), p.a_cols());
  s.step_b = step(p.stride_b, p.ldb, p.b_rows(), p.b_cols());
  s.step_c = step(p.stride_c, p.ldc, p.m, p.n);
  s.align_bytes = align_bytes;
  return s;
}

Space<GemmSmallConfig> gemm_small_space(const GemmSmallShape& s, DType dtype, const GpuLimits& limits) {
  using C = GemmSmallConfig;
  const int bytes = static_cast<int>(size_bytes(dtype));
  Space<C> space;
  add_load_rules(space, s, limits);
  space.axis(&C::matrices_per_block,
             {1,  2,  3,  4,   5,   6,   8,   10,  12,  16,  20,  24,  32,   40,   48,
              64, 80, 96, 128, 160, 192, 256, 320, 384, 512, 640, 768, 1024, 1536, 2048});
  space.require(
      "asynchronous copies of packs begin at multiples of 16 bytes in every stage", [=](const C& c) {
        return c.load != GemmSmallLoad::async || c.store != GemmSmallStore::bulk || tiles_of(16, s, c, bytes);
      });
  space.axis(&C::stages, {1, 2, 3, 4, 6});
  space.require("without a load path through shared memory there is one stage",
                [](const C& c) { return c.load != GemmSmallLoad::direct || c.stages == 1; });
  space.axis(&C::thread_m, up_to(s.m, {1, 2, 3, 4, 6, 8, 16}));
  space.axis(&C::thread_n, up_to(s.n, {1, 2, 3, 4, 6, 8, 16}));
  space.require("thread tiles fit the registers of a thread",
                [=](const C& c) { return registers_needed(c, dtype) <= 255; });
  space.require("stages fit the shared memory of a block", [=](const C& c) {
    return gemm_small_memory(s, c, bytes).total_bytes <= limits.shared_bytes_per_block;
  });
  space.axis(&C::threads, {32, 64, 96, 128, 160, 192, 256, 384, 512, 1024});
  space.require("a block has at most the threads of the device",
                [=](const C& c) { return c.threads <= limits.threads_per_block; });
  space.require("no warp of a block is without work",
                [=](const C& c) { return c.threads == 32 || gemm_small_units(s, c) > c.threads - 32; });
  space.require("the registers of a block exist on the device", [=](const C& c) {
    return registers_needed(c, dtype) * c.threads <= limits.registers_per_multiprocessor;
  });
  add_code_axes(space, s, dtype, limits);
  return space;
}

namespace {

// Fills a config's block: as many problems as give each stage about `stage_bytes` of A, then threads for one
// or few rounds. Tiles of whole sectors keep two blocks from writing into one sector. False where nothing
// legal comes out.
bool fill_block(GemmSmallConfig& c, const GemmSmallShape& s, int element_bytes, int stage_bytes,
                int most_threads, bool whole_sectors) {
  static constexpr int counts[] = {1,  2,  3,  4,   5,   6,   8,   10,  12,  16,  20,  24,  32,   40,   48,
                                   64, 80, 96, 128, 160, 192, 256, 320, 384, 512, 640, 768, 1024, 1536, 2048};
  const int largest = std::max({s.m * s.k, s.k * s.n, s.m * s.n}) * element_bytes;
  c.matrices_per_block = 0;
  for (const int count : counts) {
    GemmSmallConfig trial = c;
    trial.matrices_per_block = count;
    if (whole_sectors && !tiles_of(sector_bytes, s, trial, element_bytes)) continue;
    if (c.matrices_per_block != 0 && count * largest > stage_bytes) break;
    c.matrices_per_block = count;
  }
  double best = 0;
  for (const int threads : {32, 64, 96, 128, 160, 192, 256, 384, 512}) {
    if (threads > most_threads) break;
    GemmSmallConfig trial = c;
    trial.threads = threads;
    if (threads > 32 && gemm_small_units(s, trial) <= threads - 32) break;
    // More threads hide more latency: a larger block wins unless it idles much more.
    const double worth = busy_share(s, trial) * (0.9 + 0.1 * threads / most_threads);
    if (worth > best) {
      best = worth;
      c.threads = threads;
    }
  }
  return best > 0;
}

// Configs ordered by predicted cost.
class Shortlist {
 public:
  Shortlist(const GemmSmallShape& shape, DType dtype, const GpuLimits& limits)
      : s_(shape), dtype_(dtype), limits_(limits), space_(gemm_small_space(shape, dtype, limits)) {}

  // The fastest way in and out that the device and the shape allow.
  GemmSmallConfig base() const {
    GemmSmallConfig c;
    if (fill_block(c, s_, static_cast<int>(size_bytes(dtype_)), 8192, 128, false) && space_.contains(c))
      return c;
    c.load = limits_.compute_capability >= 80 ? GemmSmallLoad::async : GemmSmallLoad::direct;
    c.store = GemmSmallStore::direct;
    return c;
  }

  void consider(GemmSmallConfig c, int stages, int stage_bytes, int most_threads, double penalty) {
    c.stages = stages;
    for (const bool whole_sectors : {true, false})
      if (fill_block(c, s_, static_cast<int>(size_bytes(dtype_)), stage_bytes, most_threads, whole_sectors))
        rank(c, penalty);
  }

  // Few of each thread tile, so that a short list still holds different ones.
  std::vector<GemmSmallConfig> best(std::size_t count) {
    std::stable_sort(ranked_.begin(), ranked_.end(),
                     [](const Ranked& x, const Ranked& y) { return x.cost < y.cost; });
    constexpr int most_per_tile = 4;
    std::map<std::pair<int, int>, int> taken;
    std::vector<GemmSmallConfig> configs;
    for (const auto& [cost, config] : ranked_)
      if (configs.size() < count && ++taken[{config.thread_m, config.thread_n}] <= most_per_tile)
        configs.push_back(config);
    return configs;
  }

 private:
  struct Ranked {
    double cost;
    GemmSmallConfig config;
  };

  void rank(const GemmSmallConfig& c, double penalty) {
    if (busy_share(s_, c) < 0.6 || !space_.contains(c)) return;
    for (const auto& other : ranked_)
      if (other.config == c) return;
    const double latency = 1 + 4 / resident_warps(s_, c, dtype_, limits_);
    const double idle = std::min(1.0, 0.25 + busy_share(s_, c));
    // Measured: odd sizes from 13 on lose 5 to 10 % where tiles share sectors.
    const bool whole = tiles_of(sector_bytes, s_, c, static_cast<int>(size_bytes(dtype_)));
    const double cost = gemm_small_cost(s_, c, dtype_).cycles() * latency / idle;
    ranked_.push_back({cost * penalty * (whole ? 1 : 1.08), c});
  }

  const GemmSmallShape& s_;
  DType dtype_;
  const GpuLimits& limits_;
  Space<GemmSmallConfig> space_;
  std::vector<Ranked> ranked_;
};

}  // namespace

std::vector<GemmSmallConfig> gemm_small_promising(const GemmSmallShape& s, DType dtype,
                                                  const GpuLimits& limits, std::size_t count) {
  const int bytes = static_cast<int>(size_bytes(dtype));
  Shortlist list(s, dtype, limits);
  const GemmSmallConfig base = list.base();
  for (const int thread_m : up_to(s.m, {1, 2, 3, 4, 6, 8}))
    for (const int thread_n : up_to(s.n, {1, 2, 3, 4, 6, 8, 16})) {
      GemmSmallConfig c = base;
      c.thread_m = thread_m;
      c.thread_n = thread_n;
      if (useful_share(s, c) < 0.6 || registers_needed(c, dtype) > 168) continue;
      c.k_unroll = s.k * thread_m * thread_n * (bytes > 8 ? 4 : 1) > 2048 ? 8 : 0;
      GemmSmallConfig together = c;
      together.columns_together = true;
      if (gemm_small_cost(s, together, dtype).shared < 0.98 * gemm_small_cost(s, c, dtype).shared)
        c.columns_together = true;
      // Blocks that did well on the first device this was tuned on; the order among them is by small
      // penalties.
      const int direct = c.load == GemmSmallLoad::direct;
      list.consider(c, direct ? 1 : 2, 8192, 128, 1.0);
      list.consider(c, direct ? 1 : 2, 8192, 256, 1.02);
      list.consider(c, direct ? 1 : 2, 16384, 256, 1.04);
      list.consider(c, direct ? 1 : 3, 8192, 128, 1.01);
      list.consider(c, direct ? 1 : 3, 16384, 256, 1.03);
      list.consider(c, direct ? 1 : 4, 4096, 64, 1.03);
    }
  return list.best(count);
}

GemmSmallConfig gemm_small_default(const GemmSmallShape& s, DType dtype, const GpuLimits& limits) {
  const auto promising = gemm_small_promising(s, dtype, limits, 1);
  if (!promising.empty()) return promising.front();
  GemmSmallConfig c;  // legal everywhere: one matrix per block, read where it lies
  c.threads = 32;
  c.load = GemmSmallLoad::direct;
  c.store = GemmSmallStore::direct;
  c.stages = 1;
  c.persistent = false;
  return c;
}

GpuLaunch gemm_small_launch(const GemmSmallShape& s, const GemmSmallConfig& c, DType dtype,
                            std::int64_t count, const GpuLimits& limits, int blocks_per_multiprocessor) {
  const std::int64_t tiles = (count + c.matrices_per_block - 1) / c.matrices_per_block;
  const std::int64_t resident = std::int64_t(limits.multiprocessors) * std::max(1, blocks_per_multiprocessor);
  constexpr std::int64_t most_blocks = 2147483647;  // of a grid's first dimension; the stencil walks on
  GpuLaunch launch;
  launch.blocks = static_cast<unsigned>(std::min(tiles, c.persistent ? resident : most_blocks));
  launch.threads = static_cast<unsigned>(c.threads);
  launch.shared_bytes =
      static_cast<unsigned>(gemm_small_memory(s, c, static_cast<int>(size_bytes(dtype))).total_bytes);
  return launch;
}

std::string gemm_small_expression(const GemmSmallShape& s, const GemmSmallConfig& c, DType dtype) {
  return fmt::format("tilewright::gemm_small<{}, {}, {}>", device_type(dtype),
                     designated("tilewright::GemmSmallShape", s),
                     designated("tilewright::GemmSmallConfig", c));
}

std::string gemm_small_assertion(const GemmSmallShape& s, const GemmSmallConfig& c, DType dtype) {
  return fmt::format("tilewright::gemm_small_memory({}, {}, sizeof({})).total_bytes == {}",
                     designated("tilewright::GemmSmallShape", s),
                     designated("tilewright::GemmSmallConfig", c), device_type(dtype),
                     gemm_small_memory(s, c, static_cast<int>(size_bytes(dtype))).total_bytes);
}

}  // namespace tilewright
