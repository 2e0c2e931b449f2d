// Predicts the cost of a config of large GEMM from bank conflicts, instructions counted in the compiled main
// loops, bytes per level, and the share of multiprocessors that tiles fill. It ranks and explains configs.
#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "core/per_thread.hpp"
#include "kernel/gemm_large/gemm_large.hpp"

namespace tilewright {
namespace {

using LaneAddresses = std::array<int, gemm_large_lanes>;

// Returns the wavefronts of lanes [first, first + count): different words of one bank are served in turn.
int phase_wavefronts(const LaneAddresses& at, int bytes, int first, int count) {
  std::array<std::array<int, gemm_large_lanes>, 32> words{};
  std::array<int, 32> counts{};
  for (int lane = first; lane < first + count; ++lane)
    for (int word = at[std::size_t(lane)] / 4; word < (at[std::size_t(lane)] + bytes) / 4; ++word) {
      auto& bank = words[std::size_t(word % 32)];
      int& used = counts[std::size_t(word % 32)];
      if (std::find(bank.begin(), bank.begin() + used, word) == bank.begin() + used)
        bank[std::size_t(used++)] = word;
    }
  return std::max(1, *std::max_element(counts.begin(), counts.end()));
}
bool neighbours_share(const LaneAddresses& at, int first, int count, int distance) {
  for (int lane = first; lane < first + count; ++lane)
    if (at[std::size_t(lane)] != at[std::size_t(lane ^ distance)]) return false;
  return true;
}
// A warp's reads of 8 or 16 bytes are split into halves or quarters; two merge if neighbours read the same.
int read_wavefronts(const LaneAddresses& at, int bytes) {
  const int lanes = std::min(32, 128 / bytes);
  int sum = 0;
  for (int first = 0; first < gemm_large_lanes; first += 2 * lanes) {
    if (lanes == gemm_large_lanes) return phase_wavefronts(at, bytes, 0, lanes);
    const bool together =
        neighbours_share(at, first, 2 * lanes, 1) || neighbours_share(at, first, 2 * lanes, 2);
    sum += together ? phase_wavefronts(at, bytes, first, 2 * lanes)
                    : phase_wavefronts(at, bytes, first, lanes) +
                          phase_wavefronts(at, bytes, first + lanes, lanes);
  }
  return sum;
}

struct Reads {
  double wavefronts = 0;
  double instructions = 0;
};

// Counts one step's reads of an mma operand of which the warp has `rows`.
Reads count_reads(const GemmLargeOperand& operand, int rows, int groups) {
  const bool single = operand.read == GemmLargeRead::single, k_pair = operand.read == GemmLargeRead::k_pair;
  Reads reads;
  for (int i = 0; i < rows / operand.block(); ++i)
    for (int q = 0; q < groups; ++q)
      for (int s = 0; s < (k_pair ? 1 : 2); ++s)
        for (int h = 0; h < (k_pair || single ? 2 : 1); ++h) {
          LaneAddresses at{};
          for (int lane = 0; lane < gemm_large_lanes; ++lane) {
            const int v = operand.variant(q, s, h), g = lane / 4, t = lane % 4;
            const int lead =
                operand.turn(v, g, t) * operand.tile.element_bytes;  // of aligned addresses, ld odd
            at[std::size_t(lane)] = operand.base(v, 0, g, t) + operand.constant(i, q, h) + lead;
          }
          reads.wavefronts += read_wavefronts(at, single ? 8 : 16);
          reads.instructions += 1;
        }
  return reads;
}

// All inputs of count_reads(): a member left out here would confuse two costs.
using ReadsKey = std::array<int, 11>;
ReadsKey reads_key(const GemmLargeOperand& operand, int rows, int groups) {
  const auto& [tile, read, late] = operand;
  const auto& [tile_rows, depth, along_k, source_along_k, layout, element_bytes, maps] = tile;
  return {rows,        groups,        int(read),    int(late),
          tile_rows,   depth,         int(along_k), int(source_along_k),
          int(layout), element_bytes, maps};
}

// Reads an operand's counts through a cache per thread: thousands of configs read few operands.
void read_operand(const GemmLargeOperand& operand, int rows, int groups, Reads& reads) {
  constexpr std::size_t most = 1 << 14;
  auto& known = PerThread<std::map<ReadsKey, Reads>>::own();
  if (known.size() == most) known.clear();
  auto [at, is_new] = known.try_emplace(reads_key(operand, rows, groups));
  if (is_new) at->second = count_reads(operand, rows, groups);
  reads.wavefronts += at->second.wavefronts;
  reads.instructions += at->second.instructions;
}

// Counts one step's reads of one operand by the fma product.
void read_rows(const GemmLargeConfig& c, const GemmLargeTile& tile, bool is_a, Reads& reads) {
  const int count = is_a ? c.thread_m : c.thread_n, lanes = (is_a ? c.warp_m : c.warp_n) / count;
  const GemmLargePacks packs = gemm_large_packs(c, tile, count);
  const int step = gemm_large_step(c, tile.element_bytes), deep = std::min(packs.depth, step);
  for (int k = 0; k < step; k += deep)
    for (int i = 0; i < count; i += packs.rows) {
      LaneAddresses at{};
      for (int lane = 0; lane < gemm_large_lanes; ++lane) {
        const int place = is_a ? gemm_large_lane_m(c, lane) : gemm_large_lane_n(c, lane);
        at[std::size_t(lane)] = tile.offset(place * packs.rows + packs.row(i, lanes), k);
      }
      reads.wavefronts += read_wavefronts(at, packs.rows * deep * tile.element_bytes);
      reads.instructions += 1;
    }
}

Reads step_reads(const GemmLargeShape& shape, const GemmLargeConfig& c, int bytes) {
  const GemmLargeShape s = gemm_large_kernel_shape(shape, c);
  Reads reads;
  if (gemm_large_is_mma(c)) {
    const int groups = gemm_large_step(c, bytes) / gemm_large_k_group;
    read_operand(gemm_large_operand_a(s, c, bytes), c.warp_m, groups, reads);
    read_operand(gemm_large_operand_b(s, c, bytes), c.warp_n, groups, reads);
  } else {
    read_rows(c, gemm_large_tile_a(s, c, bytes), true, reads);
    read_rows(c, gemm_large_tile_b(s, c, bytes), false, reads);
  }
  return reads;
}

// Returns the real multiply-adds per clock and multiprocessor.
double rate(const GemmLargeConfig& c, DType dtype, int capability) {
  const bool wide = dtype == DType::f64 || dtype == DType::c128;
  if (c.product == GemmLargeProduct::mma_8x8x4) return 64;
  if (gemm_large_is_mma(c)) return 128;
  if (!wide) return capability == 80 ? 64 : 128;
  return capability == 90 ? 64 : capability == 80 ? 32 : 2;
}

// Returns the tiles of the last wave, which does not fill the device.
double tail_tiles(const GemmProblem& p, const GemmLargeConfig& c, const GpuLimits& limits, int resident) {
  const double tiles = std::ceil(double(p.m) / c.tile_m) * std::ceil(double(p.n) / c.tile_n);
  return std::fmod(tiles, double(limits.multiprocessors) * std::max(1, resident));
}

// Returns the number of k tiles of a tile.
double turns_of(const GemmProblem& p, const GemmLargeConfig& c) {
  return std::max(1.0, std::ceil(double(p.k) / c.tile_k));
}

// Returns the work of one multiprocessor in tiles: whole units, or an even share if all blocks share tiles.
double tiles_per_multiprocessor(const GemmProblem& p, const GemmLargeConfig& c, const GpuLimits& limits,
                                int resident) {
  const GemmLargeGrid grid = gemm_large_grid(gemm_large_of_clusters(c), p.m, p.n, p.k,
                                             limits.multiprocessors * std::max(1, resident) / c.cluster);
  const double tiles = double(grid.tiles_m) * grid.tiles_n * c.cluster;
  const double even = tiles / limits.multiprocessors;
  if (c.stream_k > 0) return even;
  const double units = tiles * c.split_k;
  double whole = std::ceil(units / limits.multiprocessors) / c.split_k;
  if (c.tail_k > 1) {
    const double tail = tail_tiles(p, c, limits, resident);
    const double turns = turns_of(p, c),
                 part = std::ceil(turns / c.tail_k) / turns;  // the longest part of a tile
    whole =
        (tiles - tail) / limits.multiprocessors + std::ceil(tail * c.tail_k / limits.multiprocessors) * part;
  }
  // At the power limit the others run faster while some idle. On an H200, f64 n = 4096: whole tiles in 8
  // waves instead of 7.8 took 3 to 5 % less time than the same kernels with stream_k.
  constexpr double idle_share = 0.6;
  const bool limited = gemm_large_is_mma(c) && p.dtype == DType::f64;
  return limited && even > 1 ? even + idle_share * (whole - even) : whole;
}

// Bytes per clock of the first device this was tuned on; the ratios among levels matter.
constexpr double l2_rate = 24;  // per multiprocessor
// Load rates for tiles of A and B that L2 holds, and others: f64 48x64, m = n = 400, k = 3000 reached 30 at
// least; with these the first of 11,000 configs screened at 215 problems was chosen best
// (bench_gemm_large_regret).
constexpr double held_load_rate = 40, load_rate = 28;
constexpr double l2_share = 0.8;             // share of L2 available to operands
constexpr double memory_rate = 2400;         // of the device
constexpr double first_load_latency = 1200;  // cycles from the first load of a block to its first product

// Returns the time of a main loop of `instructions` relative to one in the instruction caches. On an H200,
// c64 with unrolled stages: a ready warp lacked an instruction at 0.3 of all issues in loops of 64 KiB, and
// at 2.0 in loops of 128 KiB, two thirds of the time.
double fetch_factor(double instructions) {
  constexpr double bytes = 16, held = 32 << 10, nearby = 96 << 10;
  const double size = instructions * bytes;
  const double beyond = std::max(0.0, std::min(size, nearby) - held) / held;
  return 1 + 0.15 * beyond + (size > nearby ? 0.7 : 0);
}

// Returns the share of cycles in which a scheduler's warps keep the tensor cores busy; a warp waits in each k
// tile for a stage, operands and products. On an H200 with two warps, f64 n = 4096: 0.915, with prefetching
// 0.945, a gain that nearly vanishes at the power limit.
double busy_share(const GemmLargeConfig& c, double warps) {
  constexpr double most = 2;  // more warps showed no gain
  return 1 - std::pow(c.prefetch ? 0.18 : 0.2, std::min(warps, most));
}

// The same for plain multiply-adds. On an H200, f32 n = 1000 and 1024 with one tile per multiprocessor:
// prefetching does not help a scheduler's only warp, and without enough registers it serialises the reads
// (1.5 to 1.7 times as long, 64x128 of 8x8 with swizzled tiles).
double fma_busy_share(const GemmLargeConfig& c, double warps, int registers) {
  constexpr int most_registers = 220;
  const bool starved = c.prefetch && registers > most_registers;
  if (warps >= 2) return starved ? 0.94 : 1;
  return starved ? 0.6 : c.prefetch ? 0.84 : 0.88;
}

// Returns the rows of A and columns of B that each block of a cluster reads from L2 per k. 128 bytes that
// begin within a sector touch one more.
double fetched_rows(const GemmLargeShape& shape, const GemmLargeConfig& c, int bytes) {
  const GemmLargeShape s = gemm_large_kernel_shape(shape, c);
  const auto sectors = [&](const GemmLargeTile& tile) {
    return tile.maps > 1 ? 1 + double(gpu_sector_bytes) / (tile.inner() * tile.element_bytes) : 1;
  };
  return sectors(gemm_large_tile_a(s, c, bytes)) * c.tile_m / c.cluster +
         sectors(gemm_large_tile_b(s, c, bytes)) * c.tile_n;
}

// Returns the number of k tiles of a tile, counting each of its parts as long as the longest.
double walked_turns(const GemmProblem& p, const GemmLargeConfig& c) {
  return std::ceil(turns_of(p, c) / c.split_k) * c.split_k;
}

// Returns the k that a tile walks over, rounded up to whole k tiles.
double walked_k(const GemmProblem& p, const GemmLargeConfig& c) { return turns_of(p, c) * c.tile_k; }

// Returns the bytes of A and B that concurrently running tiles read from device memory, each counted once.
double wave_bytes(const GemmProblem& p, const GemmLargeConfig& c, const GpuLimits& limits, int resident) {
  const double panel = std::min<double>(c.raster, std::ceil(double(p.n) / c.tile_n));
  const double rows = std::max(1.0, double(limits.multiprocessors) * resident / panel);
  return (panel * c.tile_n + rows * c.tile_m) * walked_k(p, c) * double(size_bytes(p.dtype));
}

bool l2_holds(const GemmProblem& p, const GpuLimits& limits) {
  const double operands = double(p.m + p.n) * double(p.k) * double(size_bytes(p.dtype));
  return operands < l2_share * double(limits.l2_bytes);
}

// Returns the bytes of the copies, whose reads take whole sectors from every column.
double padding_bytes(const GemmProblem& p, const GemmLargeShape& s, const GemmLargeConfig& c) {
  const GemmLargePadding padding = gemm_large_padding(p, s, c);
  if (padding.bytes() == 0) return 0;
  const auto read = [&](std::int64_t rows, std::int64_t columns) {
    return (double(rows) * double(size_bytes(p.dtype)) + gpu_sector_bytes) * double(columns);
  };
  return double(padding.bytes()) + (padding.a_bytes > 0 ? read(p.a_rows(), p.a_cols()) : 0) +
         (padding.b_bytes > 0 ? read(p.b_rows(), p.b_cols()) : 0);
}

// Returns the cycles of sharing tiles: each block writes its part and signals, and in each level the last
// block of a group reads the others' parts. On an H200, f64, beside products and loads: m = n = 64, k = 65536
// took 25000 cycles for 128 parts of 64x64 (by this 24000), 8000 for 64 of 64x32 (13000); at m = n = k = 257
// streamed tiles of 32x32 took 2.5 times as long as whole ones.
double sharing_cost(const GemmProblem& p, const GemmLargeConfig& c, const GpuLimits& limits, int resident,
                    double tiles) {
  if (c.split_k == 1 && c.stream_k == 0 && c.tail_k == 1) return 0;
  constexpr double telling = 4000;        // cycles per part: a write, a fence, a counter
  constexpr double level_latency = 1500;  // cycles
  constexpr double reading_alone = 2;     // times l2_rate, while the other multiprocessors read nothing
  // In source order each of these reads precedes its addition: of 29 pairs of f32 and c64 configs that differ
  // in nothing else 28 took 5 to 65 us more, mostly 50 to 150 cycles per number.
  constexpr double read_in_order = 80;
  const double reals = double(c.tile_m) * c.tile_n * (is_complex(p.dtype) ? 2 : 1) / gemm_large_writers(c);
  const double in_order = c.ptxas_level == 1 ? read_in_order * reals : 0;
  const double tile_cycles = double(c.tile_m) * c.tile_n * double(size_bytes(p.dtype)) / l2_rate;
  const double all_tiles = std::ceil(double(p.m) / c.tile_m) * std::ceil(double(p.n) / c.tile_n);
  const double blocks = double(limits.multiprocessors) * resident;
  // Streamed tiles begin and end anywhere, so a block has parts of two tiles.
  const int parts =
      c.stream_k > 0 ? int(std::ceil(std::max(1.0, blocks / all_tiles))) + 1 : std::max(c.split_k, c.tail_k);
  double cycles = c.stream_k > 0 ? 2 * telling : telling;
  for (int count = parts; count > 1;) {
    const int size = gemm_large_group_size(count);
    cycles += level_latency + size * std::max(tile_cycles / reading_alone, in_order);
    count = (count + size - 1) / size;
  }
  const double tail_parts = c.tail_k > 1 ? tail_tiles(p, c, limits, resident) * c.tail_k : 0;
  const double units = c.split_k > 1 ? c.split_k * tiles : tail_parts / limits.multiprocessors;
  // A multiprocessor signals each of its parts: for 256 parts of 64x64 on 132 multiprocessors (m = n = 64, k
  // = 65536, 34 us; 27.5 for 64 of 64x32) this explains 4000 of the 10000 missing cycles.
  return std::max(cycles + telling * std::max(0.0, units - 1), 2 * units * tile_cycles);
}

// Returns the cost of one launch.
GemmLargeCost launch_cost(const GemmProblem& p, const GemmLargeShape& s, const GemmLargeConfig& c,
                          const GpuLimits& limits) {
  const int bytes = int(size_bytes(p.dtype));
  // Without a limit the compiler takes some more registers: 112 to 169, mostly above 128, for an estimate of
  // 124 (f64 64x128 of 32x32, nn nt tn).
  const int generous = gemm_large_is_mma(c) && c.blocks_per_sm == 1 ? 12 : 0;
  const int resident = std::max(1, gemm_large_resident(s, c, p.dtype, limits, generous));
  const double tiles = tiles_per_multiprocessor(p, c, limits, resident);
  const double turns = walked_turns(p, c), k = turns * c.tile_k;
  const double warps = gemm_large_warps(c), real = is_complex(p.dtype) ? 4 : 1;
  const double tile_products = double(c.tile_m) * c.tile_n * k * real;
  const Reads reads = step_reads(s, c, bytes);
  const double steps = k / gemm_large_step(c, bytes) * gemm_large_tile_warps(c) * tiles;
  GemmLargeCost cost;
  const double busy = std::min(double(resident), std::max(1.0, tiles)) * warps / 4;
  const double hidden =
      gemm_large_is_mma(c) ? busy_share(c, busy) : fma_busy_share(c, busy, gemm_large_registers(c, p.dtype));
  cost.multiply = tiles * tile_products / rate(c, p.dtype, limits.compute_capability) / hidden;
  cost.shared = reads.wavefronts * steps;
  const double products = double(c.warp_m) * c.warp_n * gemm_large_step(c, bytes) * real;
  const double of_step = products / gemm_large_products_at_once(c) + reads.instructions;
  const double fetched = fetch_factor(of_step * (c.k_unroll > 0 ? c.k_unroll : gemm_large_steps(c, bytes)));
  cost.multiply *= fetched;
  // Setting sums aside costs an addition and a zero each (a complex term is two of a real sum), in shared
  // memory also a read and a write, half hidden by other warps.
  const double terms = double(c.sum_turns) * c.tile_k / c.warps_k * (is_complex(p.dtype) ? 2 : 1);
  const int moved = c.sums_in_shared ? (is_complex(p.dtype) ? bytes / 2 : bytes) : 0;
  if (terms > 0) cost.multiply *= 1 + (2 + moved) / terms;
  const double copied = double(c.tile_m + c.tile_n) * c.tile_k * bytes;
  const double copies = c.load == GemmLargeLoad::tensor ? 100 : copied / c.load_bytes / 32 * 4 + 40 * warps;
  // A step of a loop also counts and recomputes addresses.
  const double rolled = c.k_unroll > 0 ? 12.0 / c.k_unroll : 0;
  cost.issue = ((of_step + rolled) * fetched * steps + copies * turns * tiles) / 4;
  cost.l2 =
      tiles * k * fetched_rows(s, c, bytes) * bytes / (l2_holds(p, limits) ? held_load_rate : load_rate);
  cost.memory = tiles / resident * wave_bytes(p, c, limits, resident) / memory_rate;
  const double c_bytes = double(c.tile_m) * c.tile_n * bytes * (s.reads_c ? 2 : 1);
  // Another block, the loading warp or the preceding store hide the first loads of a tile, but less than
  // expected (f64, k = 16 to 192: walking blocks took 1 to 10 % more than others).
  const double shown = gemm_large_walks(c) ? 0.6 : c.specialised || resident > 1 ? 0.5 : 1;
  // One block multiplies while another stores. On an H200, f64 m = n = 8192, k = 64: two blocks of 128x64
  // took 5 % less than one of 128x128, with cheaper products; a half is assumed. Staggering did not matter.
  const double stored = resident > 1 && tiles > 1 ? 0.5 : 1;
  cost.fixed = stored * tiles * c_bytes / l2_rate + sharing_cost(p, c, limits, resident, tiles) +
               shown * std::ceil(tiles / resident) * first_load_latency + first_load_latency;
  // Such a warp also idles until the others finish a k tile (60 to 120 cycles).
  if (!gemm_large_is_mma(c) && busy < 2) cost.fixed += 100 * turns * tiles;
  // The groups of warps add up their sums through shared memory.
  cost.fixed += tiles * 2 * (c.warps_k - 1) * double(c.tile_m) * c.tile_n * bytes / 128;
  return cost;
}

// Returns the cycles between two launches; a guess for early launches.
double between_launches(const GemmLargeConfig& c) { return c.dependent_launch ? 1500 : 3000; }

double padding_cost(const GemmProblem& p, const GemmLargeShape& s, const GemmLargeConfig& c,
                    const GpuLimits& limits) {
  const double bytes = padding_bytes(p, s, c);
  if (bytes == 0) return 0;
  // L2 keeps the copies that fit, at least twice as fast. The second gap is measured (f64 1500x1500x37: 5400
  // cycles beside one gap and the bytes).
  const double kept = l2_share * double(limits.l2_bytes);
  return bytes / ((bytes < kept ? 1.6 : 0.8) * memory_rate) + 2 * between_launches(c);
}

}  // namespace

GemmLargeTraffic gemm_large_traffic(const GemmProblem& p, const GemmLargeShape& s, const GemmLargeConfig& c,
                                    const GpuLimits& limits, int resident) {
  const int bytes = int(size_bytes(p.dtype));
  const GemmLargeConfig clusters = gemm_large_of_clusters(c);
  const GemmLargeGrid grid =
      gemm_large_grid(clusters, p.m, p.n, p.k, limits.multiprocessors * resident / c.cluster);
  const double tiles = double(grid.tiles()) * c.cluster, c_bytes = double(p.m) * double(p.n) * bytes;
  const double steps = walked_k(p, c) / gemm_large_step(c, bytes) * gemm_large_tile_warps(c) * tiles;
  const double parts = double(gemm_large_slots(clusters, grid)) * clusters.tile_m * clusters.tile_n * bytes;
  const double least = double(p.m + p.n) * double(p.k) * bytes;
  GemmLargeTraffic traffic;
  traffic.c_bytes = c_bytes * (s.reads_c ? 2 : 1) + 2 * parts;
  traffic.l2_bytes = tiles * walked_k(p, c) * fetched_rows(s, c, bytes) * bytes + traffic.c_bytes;
  const double waves = std::max(1.0, tiles / (double(limits.multiprocessors) * resident));
  traffic.memory_bytes = std::max(least, waves * wave_bytes(p, c, limits, resident)) +
                         c_bytes * (s.reads_c ? 2 : 1) + padding_bytes(p, s, c);
  traffic.shared_bytes = step_reads(s, c, bytes).wavefronts * 128 * steps;
  return traffic;
}

double gemm_large_products_at_once(const GemmLargeConfig& c) {
  if (!gemm_large_is_mma(c)) return gemm_large_lanes;
  return c.product == GemmLargeProduct::mma_8x8x4 ? 256 : 128.0 * gemm_large_mma_k(c);
}

double gemm_large_wavefronts(const GemmLargeShape& s, const GemmLargeConfig& c, DType dtype) {
  return step_reads(s, c, int(size_bytes(dtype))).wavefronts;
}

double GemmLargeCost::cycles() const {
  const double most = std::max({multiply, issue, shared, l2, memory});
  return most + 0.1 * (multiply + issue + shared + l2 + memory - most) + fixed;
}

GemmLargeCost gemm_large_cost(const GemmProblem& p, const GemmLargeShape& s, const GemmLargeConfig& c,
                              const GpuLimits& limits) {
  if (s.batch != GemmLargeBatch::none) return gemm_large_batch_cost(p, s, c, limits);
  if (c.boundary != GemmLargeBoundary::residue_kernel) {
    GemmLargeCost cost = launch_cost(p, s, c, limits);
    cost.fixed += padding_cost(p, s, c, limits);
    return cost;
  }
  const std::vector<GemmLargeInstance> instances = gemm_large_instances(s, c);
  GemmLargeCost all;
  for (const GemmLargePart& part : gemm_large_parts(p, c)) {
    const GemmLargeInstance& one = instances[gemm_large_instance_of(part.role, s)];
    const GemmLargeCost cost = launch_cost(gemm_large_part_problem(p, part), one.shape, one.config, limits);
    // Only the whole tiles fill the device; the other parts count with their full cost.
    if (part.role == GemmLargeRole::rest)
      all.fixed += cost.cycles() + between_launches(c);
    else
      all = {cost.multiply, cost.issue, cost.shared, cost.l2, cost.memory, cost.fixed + all.fixed};
  }
  return all;
}

}  // namespace tilewright
