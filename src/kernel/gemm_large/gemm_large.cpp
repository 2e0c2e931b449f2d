// The shape that large GEMM on the GPU is compiled for, its registers, and the geometry of a launch.
#include "kernel/gemm_large/gemm_large.hpp"

#include <algorithm>
#include <numeric>

#include "kernel/jit/stencil.hpp"

namespace tilewright {
namespace {

using C = GemmLargeConfig;

int bytes_of(DType dtype) { return int(size_bytes(dtype)); }

std::int64_t tiles_of(std::int64_t size, int tile) { return (size + tile - 1) / tile; }

GemmLargeMath math_of(MathMode mode) {
  if (mode == MathMode::full) return GemmLargeMath::full;
  throw Error(ErrorCode::unsupported, "math_mode",
              fmt::format("math_mode = {} is not served by gpu_large", to_string(mode)));
}

int alignment_of(int address, std::int64_t ld, int bytes) {
  const auto distance = std::uint64_t(ld) * unsigned(bytes);
  return int(std::gcd(std::gcd(std::uint64_t(address), distance), 16u));
}

// True if elements of several words are prefetched as far as registers allow.
bool reads_wide_ahead(const GemmLargeConfig& c, DType dtype) {
  return c.prefetch && !gemm_large_is_mma(c) && bytes_of(dtype) > 4;
}

// Spreads the blocks of a launch that begins early, when some multiprocessors are busy. With fewer blocks
// than places, idle ones would take several and finish last (f32 n = 1024: 85 us instead of 47), so it
// requests enough shared memory to spread blocks evenly. Tiles of a few loads may lie anywhere.
void begin_early(const GemmProblem& p, const C& c, const GpuLimits& limits, int resident, GpuLaunch& launch) {
  launch.dependent = true;
  const int wanted = int(tiles_of(launch.blocks, limits.multiprocessors));
  constexpr double few_cycles = 4000, products_per_cycle = 128;
  const double unit = double(c.tile_m) * c.tile_n * double(p.k) / c.split_k * (is_complex(p.dtype) ? 4 : 1);
  // With fewer blocks per multiprocessor than the driver expects, whole clusters might find no place.
  if (c.cluster > 1 || wanted >= resident || unit / products_per_cycle <= few_cycles) return;
  launch.shared_bytes = unsigned(gemm_large_apart_bytes(wanted, int(launch.shared_bytes), limits));
}

}  // namespace

GemmLargeBatch gemm_large_batch(const GemmProblem& p, ScalarsVary vary) {
  if (p.layout == Layout::variable || vary.any()) return GemmLargeBatch::listed;
  if (p.layout == Layout::pointer) return GemmLargeBatch::pointers;
  const bool one_launch = p.batch_count > 1 && std::max({p.m, p.n, p.k}) <= gemm_large_batch_limit;
  return p.layout == Layout::strided && one_launch ? GemmLargeBatch::strided : GemmLargeBatch::none;
}

GemmLargeAlignment gemm_large_alignment(const GemmProblem& p, int address_bytes) {
  const auto of = [&](std::int64_t stride) {
    return alignment_of(address_bytes, p.batch_count > 1 ? stride : 0, bytes_of(p.dtype));
  };
  return {of(p.stride_a), of(p.stride_b), of(p.stride_c)};
}

GemmLargeShape gemm_large_shape(const GemmProblem& p, GemmLargeAlignment alignment, MathMode mode,
                                ScalarsVary vary) {
  const int bytes = bytes_of(p.dtype);
  GemmLargeShape s;
  s.trans_a = p.op_a != Op::none;
  s.trans_b = p.op_b != Op::none;
  s.conj_a = p.op_a == Op::conj_trans && is_complex(p.dtype);
  s.conj_b = p.op_b == Op::conj_trans && is_complex(p.dtype);
  s.reads_c = p.beta != Scalar::zero || vary.beta;
  s.align_a = alignment_of(alignment.a, p.lda, bytes);
  s.align_b = alignment_of(alignment.b, p.ldb, bytes);
  s.align_c = alignment_of(alignment.c, p.ldc, bytes);
  s.math = math_of(mode);
  s.batch = gemm_large_batch(p, vary);
  if (p.layout == Layout::variable) s.align_a = s.align_b = s.align_c = bytes;  // of any leading dimension
  return s;
}

GpuTensor gemm_large_tensor(const GemmProblem& p, const GemmLargeShape& s, const C& c, GemmLargeSide side,
                            const void* address, int turn) {
  const int bytes = bytes_of(p.dtype), words = bytes > 8 ? 2 : 1;
  const bool is_a = side == GemmLargeSide::a;
  const GemmLargeTile tile = is_a ? gemm_large_tile_a(s, c, bytes) : gemm_large_tile_b(s, c, bytes);
  const std::int64_t rows = is_a ? p.m : p.n, ld = is_a ? p.lda : p.ldb;
  const bool shares = is_a && gemm_large_splits_rows(tile, c);
  GpuTensor tensor;
  tensor.type = bytes == 4 ? GpuTensorType::f32 : GpuTensorType::f64;
  tensor.swizzled = tile.layout == GemmLargeLayout::swizzle;
  tensor.address = address;
  tensor.inner = std::uint64_t((tile.along_k ? p.k : rows) * words);
  tensor.outer = std::uint64_t(tile.along_k ? rows : p.k);
  tensor.stride_bytes = std::uint64_t(ld) * unsigned(bytes * tile.maps);
  tensor.box_inner = std::uint32_t((tensor.swizzled ? gemm_large_row : tile.pitch()) / bytes * words);
  tensor.box_outer = std::uint32_t(tile.map_columns() / (shares ? c.cluster : 1));
  if (s.batch == GemmLargeBatch::strided) {
    tensor.matrices = std::uint64_t(p.batch_count);
    tensor.matrix_bytes = std::uint64_t(is_a ? p.stride_a : p.stride_b) * unsigned(bytes);
  }
  if (tile.maps > 1) {
    const auto place = reinterpret_cast<std::uintptr_t>(address);
    const int lead = gemm_large_lead(place, ld, turn, bytes);
    tensor.address =
        reinterpret_cast<const void*>(place + static_cast<std::uintptr_t>((turn * ld - lead) * bytes));
    tensor.inner += unsigned(lead);
    tensor.outer = (tensor.outer + unsigned(tile.maps - 1 - turn)) / unsigned(tile.maps);
  }
  return tensor;
}

bool gemm_large_aligned_loads(const GemmLargeShape& shape, const GemmLargeConfig& c, DType dtype) {
  if (c.load == GemmLargeLoad::tensor) return true;  // it has rules of its own
  const GemmLargeShape s = gemm_large_kernel_shape(shape, c);
  const int bytes = bytes_of(dtype);
  const auto access = [&](const GemmLargeTile& tile) {
    return gemm_large_reading(tile, c, 0).vector * bytes;
  };
  return c.load_bytes >= bytes && access(gemm_large_tile_a(s, c, bytes)) <= s.align_a &&
         access(gemm_large_tile_b(s, c, bytes)) <= s.align_b;
}

int gemm_large_needed_registers(const GemmLargeConfig& c, DType dtype) {
  const int words = bytes_of(dtype) / 4, fragments = c.prefetch ? 2 : 1;
  const int sums_held = c.sum_turns > 0 && !c.sums_in_shared ? 2 : 1;
  // Registers beyond sums and operands that the compiler was seen to need.
  int others = c.stream_k > 0 ? 12 : 0;
  if (!gemm_large_is_mma(c)) {
    others += c.load == GemmLargeLoad::async && !reads_wide_ahead(c, dtype) ? 56 : 36;
    const int operands = (c.thread_m + c.thread_n) * gemm_large_step(c, bytes_of(dtype));
    return (sums_held * c.thread_m * c.thread_n + fragments * operands) * words + others;
  }
  const int sums = c.warp_m * c.warp_n / gemm_large_lanes * words;
  const int operands = (c.warp_m + c.warp_n) * gemm_large_step(c, bytes_of(dtype)) / gemm_large_lanes * words;
  return sums_held * sums + fragments * operands + 28;
}

int gemm_large_registers(const GemmLargeConfig& c, DType dtype) {
  const int needed = gemm_large_needed_registers(c, dtype);
  if (!reads_wide_ahead(c, dtype)) return needed;
  const int more = c.load == GemmLargeLoad::async ? 48 : 28;
  return std::max(needed, std::min(needed + more, gemm_large_most_registers));
}

int gemm_large_held_registers(const GemmLargeShape& shape, const GemmLargeConfig& c, DType dtype) {
  const GemmLargeShape s = gemm_large_kernel_shape(shape, c);
  if (c.load == GemmLargeLoad::tensor || c.load == GemmLargeLoad::async) return 0;
  const int bytes = bytes_of(dtype);
  const auto held = [&](const GemmLargeTile& tile, int wanted) {
    const GemmLargeReading reading = gemm_large_reading(tile, c, wanted);
    return reading.accesses() * reading.vector * bytes / 4;
  };
  return held(gemm_large_tile_a(s, c, bytes), c.read_a) + held(gemm_large_tile_b(s, c, bytes), c.read_b);
}

int gemm_large_resident(const GemmLargeShape& s, const GemmLargeConfig& c, DType dtype,
                        const GpuLimits& limits, int more_registers) {
  const GemmLargeShape seen = gemm_large_kernel_shape(s, c);
  const int shared = gemm_large_memory(seen, c, bytes_of(dtype)).total_bytes + limits.shared_bytes_reserved;
  const int threads = gemm_large_threads(c);
  const int registers = gemm_large_registers(c, dtype) + more_registers;
  return std::max(0, std::min({limits.shared_bytes_per_multiprocessor / shared,
                               limits.registers_per_multiprocessor / (registers * threads),
                               limits.threads_per_multiprocessor / threads, 32}));
}

int gemm_large_apart_bytes(int blocks, int shared_bytes, const GpuLimits& limits) {
  constexpr int granularity = 128;
  const int too_many = limits.shared_bytes_per_multiprocessor / (blocks + 1) - limits.shared_bytes_reserved;
  return std::max(shared_bytes, (too_many / granularity + 1) * granularity);
}

GemmLargeLaunch gemm_large_launch(const GemmProblem& p, const GemmLargeShape& s, const GemmLargeConfig& c,
                                  const GpuLimits& limits, int resident) {
  constexpr std::int64_t most_blocks = 2147483647;
  const GemmLargeConfig clusters = gemm_large_of_clusters(c);
  const int slots = std::max(1, limits.multiprocessors * std::max(1, resident) / c.cluster);
  const std::int64_t units =
      tiles_of(p.m, clusters.tile_m) * tiles_of(p.n, clusters.tile_n) * c.split_k * gemm_large_problems(p, s);
  const std::int64_t most_units = most_blocks / c.cluster - std::int64_t(slots) * c.tail_k;
  if (units > most_units || tiles_of(p.k, c.tile_k) > most_blocks)
    throw Error(ErrorCode::unsupported, "config",
                fmt::format("m = {}, n = {}, k = {}: {} tiles, or those of k, are more than a grid holds",
                            p.m, p.n, p.k, units));
  const GemmLargeGrid grid = gemm_large_grid(clusters, p.m, p.n, p.k, slots);
  GemmLargeLaunch result;
  const bool walks = gemm_large_walks(c);
  const std::int64_t used = c.stream_k > 0 ? slots
                            : walks        ? std::min<std::int64_t>(units, slots)
                            : c.tail_k > 1 ? gemm_large_tail_blocks(clusters, units, slots)
                                           : units;
  result.launch.blocks = unsigned(used * c.cluster);
  result.launch.cluster = unsigned(c.cluster);
  result.launch.threads = unsigned(gemm_large_threads(c));
  result.launch.shared_bytes =
      unsigned(gemm_large_memory(gemm_large_kernel_shape(s, c), c, bytes_of(p.dtype)).total_bytes);
  if (c.dependent_launch) begin_early(p, c, limits, resident, result.launch);
  if (gemm_large_shares(c)) {
    const GemmLargeGrid launched = gemm_large_grid(clusters, p.m, p.n, p.k, int(used));
    result.workspace_bytes = gemm_large_slots(clusters, launched) * c.cluster * std::int64_t(c.tile_m) *
                             c.tile_n * bytes_of(p.dtype);
    result.counter_count = std::int64_t(grid.tiles()) * c.cluster *
                           gemm_large_counters(gemm_large_most_parts(clusters, launched));
  }
  return result;
}

std::int64_t gemm_large_problems(const GemmProblem& p, const GemmLargeShape& s) {
  return s.batch == GemmLargeBatch::none ? 1 : p.batch_count;
}

std::int64_t gemm_large_problems_at_once(const GemmProblem& p, const GemmLargeShape& s,
                                         const GemmLargeConfig& c) {
  if (s.batch == GemmLargeBatch::none) return 1;
  const std::int64_t tiles = tiles_of(p.m, c.tile_m) * tiles_of(p.n, c.tile_n);
  return std::max<std::int64_t>(1, gemm_large_most_batch_tiles / tiles);
}

std::string gemm_large_expression(const GemmLargeShape& s, const GemmLargeConfig& c, DType dtype) {
  return fmt::format("tilewright::{}<{}, {}, {}>",
                     s.batch == GemmLargeBatch::listed ? "gemm_large_list" : "gemm_large", device_type(dtype),
                     designated("tilewright::GemmLargeShape", s),
                     designated("tilewright::GemmLargeConfig", c));
}

}  // namespace tilewright
