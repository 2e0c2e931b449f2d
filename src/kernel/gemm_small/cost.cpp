// Predicts the cost of a config of batched small GEMM from the bank conflicts of one warp's addresses and
// from counted instructions, without latency. It ranks and explains configs.
#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <set>

#include "kernel/gemm_small/gemm_small.hpp"

namespace tilewright {
namespace {

// Returns the wavefronts of a warp's shared-memory instruction: different words of a bank take one each.
int wavefronts(const std::vector<int>& addresses, int bytes) {
  std::map<int, std::set<int>> words_of_bank;
  for (const int address : addresses)
    for (int word = address / 4; word < (address + bytes) / 4; ++word) words_of_bank[word % 32].insert(word);
  std::size_t most = 1;
  for (const auto& [bank, words] : words_of_bank) most = std::max(most, words.size());
  return int(most);
}

// Counts the accesses of a warp's lanes: element (i, j) of an operand's matrix lies at j * ld + i.
struct Warp {
  const GemmSmallShape& s;
  const GemmSmallConfig& c;
  GemmSmallPacks packs;
  int element_bytes;
  int width;  // threads of the warp that work
  double wavefront_count = 0;
  double instruction_count = 0;

  // Counts one access of every lane; `element` gives its place from the lane's thread tile.
  void access(const GemmSmallOperand& o, int pack, double times,
              const std::function<int(int tile_m, int tile_n)>& element) {
    const int tiles_m = gemm_small_tiles_m(s, c), tiles = tiles_m * gemm_small_tiles_n(s, c);
    const bool shared_by_all = o.step == GemmSmallStep::broadcast;
    const int lanes = shared_by_all ? 1 : gemm_small_lanes(s, c);
    std::vector<int> addresses;
    for (int lane = 0; lane < width; ++lane) {
      const GemmSmallUnit unit = gemm_small_unit(lane, gemm_small_lanes(s, c), tiles);
      const GemmSmallPlaceInC place = gemm_small_place_in_c(c, unit.tile, tiles_m);
      const int at = element(place.m, place.n);
      addresses.push_back(gemm_small_position(shared_by_all ? 0 : unit.q, at, lanes, o.elements) *
                          element_bytes);
    }
    wavefront_count += times * wavefronts(addresses, pack * element_bytes);
    instruction_count += times;
  }
};

void read_operands(Warp& warp) {
  const GemmSmallShape& s = warp.s;
  const GemmSmallConfig& c = warp.c;
  const GemmSmallPacks& packs = warp.packs;
  const GemmSmallOperand a = gemm_small_a(s, warp.element_bytes), b = gemm_small_b(s, warp.element_bytes);
  const double steps = double(s.k) / packs.k_step;
  const int tiles_m = gemm_small_tiles_m(s, c), tiles_n = gemm_small_tiles_n(s, c);
  for (int i = 0; i < c.thread_m; i += packs.row)
    for (int l = 0; l < packs.k_step; l += packs.k_a)
      warp.access(a, s.trans_a ? packs.k_a : packs.row, steps, [&](int tile_m, int) {
        const int row = gemm_small_row(c, i, packs.row, tiles_m, tile_m);
        return s.trans_a ? row * a.ld + l : l * a.ld + row;
      });
  for (int j = 0; j < c.thread_n; j += packs.column)
    for (int l = 0; l < packs.k_step; l += packs.k_b)
      warp.access(b, s.trans_b ? packs.column : packs.k_b, steps, [&](int, int tile_n) {
        const int column = gemm_small_column(c, j, packs.column, tiles_n, tile_n);
        return s.trans_b ? l * b.ld + column : column * b.ld + l;
      });
}

// With tensor cores a lane reads one value of k in four.
void read_operands_by_warp(Warp& warp) {
  const GemmSmallShape& s = warp.s;
  const GemmSmallConfig& c = warp.c;
  const GemmSmallOperand a = gemm_small_a(s, warp.element_bytes), b = gemm_small_b(s, warp.element_bytes);
  const double steps = ceil_div(s.k, 4);
  for (int i = 0; i < c.thread_m; ++i)
    warp.access(a, 1, steps, [&](int tile_m, int tile_n) {
      const int row = gemm_small_row(c, i, 1, 0, tile_m), l = tile_n % gemm_small_warp_n;
      return s.trans_a ? row * a.ld + l : l * a.ld + row;
    });
  for (int j = 0; j < c.thread_n; j += 2)
    warp.access(b, 1, steps, [&](int tile_m, int tile_n) {
      const int l = tile_n % gemm_small_warp_n;
      const int column =
          (tile_n / gemm_small_warp_n * c.thread_n + j) * gemm_small_warp_n + tile_m % gemm_small_warp_m;
      return s.trans_b ? l * b.ld + column : column * b.ld + l;
    });
}

void move_results(Warp& warp) {
  const GemmSmallShape& s = warp.s;
  const GemmSmallConfig& c = warp.c;
  const GemmSmallOperand o = gemm_small_c(s, warp.element_bytes);
  const double times = (s.reads_c ? 1 : 0) + (c.store == GemmSmallStore::direct ? 0 : 1);
  for (int j = 0; j < c.thread_n; ++j)
    for (int i = 0; i < c.thread_m; i += warp.packs.row)
      warp.access(o, warp.packs.row, times, [&](int tile_m, int tile_n) {
        return gemm_small_column(c, j, warp.packs.column, gemm_small_tiles_n(s, c), tile_n) * o.ld +
               gemm_small_row(c, i, warp.packs.row, gemm_small_tiles_m(s, c), tile_m);
      });
}

// Sizes that represent a variable batch: quarters of the largest, odd, as most spread columns over banks.
constexpr int quarters = 4;
GemmSmallShape of_quarter(GemmSmallShape s, int quarter) {
  const auto part = [&](int size) { return (ceil_div(size * quarter, quarters) - 1) / 2 * 2 + 1; };
  s.m = part(s.m);
  s.n = part(s.n);
  s.k = part(s.k);
  return s;
}

// Returns the bytes of a problem's operands that a launch moves.
double bytes_of_sizes(const GemmSmallShape& s, int element_bytes) {
  return double(s.m * s.k + s.k * s.n + (s.reads_c ? 2 : 1) * s.m * s.n) * element_bytes;
}
double moved_bytes(const GemmSmallShape& s, int element_bytes) {
  if (!s.sizes_vary) return bytes_of_sizes(s, element_bytes);
  double sum = 0;
  for (int q = 1; q <= quarters; ++q) sum += bytes_of_sizes(of_quarter(s, q), element_bytes);
  return sum / quarters;
}

// Returns the pieces of 16 bytes that threads copy for a problem of a pointer batch; 0 if they do not copy.
double copied_pieces(const GemmSmallShape& s, const GemmSmallConfig& c, int element_bytes) {
  if (!gemm_small_has(s, GemmSmallStep::pointer) || c.load != GemmSmallLoad::async) return 0;
  const double elements = s.m * s.k + s.k * s.n + (gemm_small_loads_c(s, c) ? s.m * s.n : 0);
  return elements * element_bytes / 16;
}

// Multiply-adds per cycle of a multiprocessor, and issue slots of a thread's multiply-add.
struct Multiplier {
  double per_cycle;
  double slots;
};
Multiplier multiplier_of(const GemmSmallConfig& c, DType dtype) {
  constexpr double products_16 = 16 * 8 * 4 / 32.0, products_8 = 8 * 8 * 4 / 32.0;  // of a lane
  if (c.multiply == GemmSmallMultiply::mma_16x8x4) return {128, 1 / products_16};
  if (c.multiply == GemmSmallMultiply::mma_8x8x4) return {64, 1 / products_8};
  const bool wide = dtype == DType::f64 || dtype == DType::c128;
  return wide ? Multiplier{64, 2} : Multiplier{128, 1};
}

GemmSmallCost cost_of_sizes(const GemmSmallShape& s, const GemmSmallConfig& c, DType dtype) {
  const int bytes = int(size_bytes(dtype));
  const int tiles = gemm_small_tiles_m(s, c) * gemm_small_tiles_n(s, c);
  const int units = s.sums == GemmSmallSums::none ? gemm_small_units(s, c) : tiles;
  Warp warp{s, c, gemm_small_packs(s, c, bytes), bytes, std::min(32, units)};
  gemm_small_by_warp(c) ? read_operands_by_warp(warp) : read_operands(warp);
  if (s.sums == GemmSmallSums::none) move_results(warp);  // otherwise once for many products
  const double warps = s.sums == GemmSmallSums::none ? double(tiles) / warp.width
                                                     : double(ceil_div(tiles, 32));  // per problem
  const int k = gemm_small_by_warp(c) ? ceil_div(s.k, 4) * 4 : s.k;
  const double real_products = double(k) * c.thread_m * c.thread_n * (is_complex(dtype) ? 4 : 1);
  const Multiplier by = multiplier_of(c, dtype);
  GemmSmallCost cost;
  // Loads and stores through copies pass shared memory once, 128 bytes per wavefront.
  const double moved = bytes_of_sizes(s, bytes);
  cost.shared = warps * warp.wavefront_count + (gemm_small_is_direct(c.load) ? 0 : moved / 128);
  cost.multiply = warps * 32 * real_products / by.per_cycle;
  // The constant 24 covers finding the unit's place, and its loop.
  cost.issue = warps * (real_products * by.slots + warp.instruction_count + 24) / 4;
  constexpr double instructions_per_copy = 16;  // counted: address, its check, loop
  cost.issue += copied_pieces(s, c, bytes) / 32 * instructions_per_copy / 4;
  return cost;
}

// Returns the cost of a problem of its own size, whose last thread tiles are smaller. Counted in the code: 3
// instructions per k beside reads and multiply-adds, 5 per element of C, 60 per thread tile, 400 per problem.
GemmSmallCost cost_of_own_size(const GemmSmallShape& s, const GemmSmallConfig& c, DType dtype) {
  const Multiplier by = multiplier_of(c, dtype);
  const int own_m = gemm_small_own_m, own_n = gemm_small_own_n, step = c.size_step;
  const double complex = is_complex(dtype) ? 4 : 1;
  GemmSmallCost cost;
  cost.shared = bytes_of_sizes(s, int(size_bytes(dtype))) / 128;
  double instructions = 400;
  for (int row = 0; row < s.m; row += c.thread_m * own_m)
    for (int column = 0; column < s.n; column += c.thread_n * own_n) {
      const int thread_m = std::min(c.thread_m, ceil_div(s.m - row, step) * step / own_m);
      const int thread_n = std::min(c.thread_n, ceil_div(s.n - column, step) * step / own_n);
      const double products = complex * thread_m * thread_n, reads = thread_m + thread_n;
      cost.shared += reads * s.k;
      cost.multiply += products * s.k * 32 / by.per_cycle;
      instructions += s.k * (products * by.slots + reads + 3) + 5.0 * thread_m * thread_n + 60;
    }
  cost.issue = instructions / 4;
  return cost;
}
GemmSmallCost cost_of_quarters(const GemmSmallShape& s, const GemmSmallConfig& c, DType dtype) {
  GemmSmallCost sum;
  for (int q = 1; q <= quarters; ++q) {
    const GemmSmallCost one = cost_of_own_size(of_quarter(s, q), c, dtype);
    sum.shared += one.shared / quarters;
    sum.multiply += one.multiply / quarters;
    sum.issue += one.issue / quarters;
  }
  return sum;
}

// Figures of the measured device: bytes per cycle and multiprocessor, cycles from requesting a tile to having
// it under load, and cycles of a block's iteration beside the arithmetic.
constexpr double bandwidth = 16.4, latency = 1500, turn = 500;
// Cycles of the copy engine per bulk copy: pointer batches of small matrices took this long per matrix.
constexpr double engine = 16;

// The cycles of one iteration of a block: on a multiprocessor with other blocks, and on its own.
struct Turn {
  double computing = 0;
  double alone = 0;
};

Turn cost_of_turn(const GemmSmallShape& s, const GemmSmallConfig& c, const GemmSmallCost& cost) {
  const int units = gemm_small_units(s, c), rounds = ceil_div(units, c.threads);
  const double busy = s.sizes_vary ? 1 : double(rounds) * c.threads / units;
  const double warps = c.threads / 32.0;
  double waits = 0;
  // A block waits for the addresses unless an earlier tile of the block has loaded them.
  if (gemm_small_has(s, GemmSmallStep::pointer) && !c.persistent) waits += latency;
  if (gemm_small_is_direct(c.load)) waits += latency;
  // A warp alone issues an instruction every few cycles.
  constexpr double cycles_per_instruction = 4;
  const double computing = c.matrices_per_block * cost.issue * 4 * busy / warps * cycles_per_instruction;
  if (gemm_small_rings(s, c)) {
    // A ring waits for entries, then the first problem; each problem requests copies and tests a barrier.
    constexpr double between_problems = 200;
    const double problems = c.matrices_per_block / warps;
    const double old_c = s.reads_c && c.c_direct ? std::max(0.0, latency / 2 - computing / problems) : 0;
    return {c.matrices_per_block * cost.cycles(),
            computing + problems * (between_problems + old_c) + 2 * latency};
  }
  // The old C is loaded while the block multiplies.
  if (s.reads_c && c.c_direct) waits += std::max(0.0, latency / 2 - computing);
  return {c.matrices_per_block * cost.cycles() * busy, computing + turn + waits};
}

// Measured: tiles with different offsets in shared and device memory lose a tenth if they split sectors and 2
// % if they split lines; tiles that share sectors lose 3 %.
double share_left_by_splits(const GemmSmallShape& s, const GemmSmallConfig& c, int element_bytes) {
  const bool alike = c.load != GemmSmallLoad::bulk || c.shift_bytes >= 128;
  if (gemm_small_tiles_of(gpu_sector_bytes, s, c, element_bytes))
    return alike || gemm_small_tiles_of(128, s, c, element_bytes) ? 1 : 0.98;
  return alike ? 0.97 : 0.9;
}

// A multiprocessor with few warps waits for its own reads of shared memory.
double share_of_warps(const GemmSmallConfig& c, int blocks) {
  constexpr double enough = 8, few_warps_lose = 0.3;
  const double warps = c.threads / 32.0 * blocks;
  return warps < enough ? 1 - few_warps_lose * (1 - warps / enough) : 1;
}

// Returns the cycles of the copy engine for a tile of a pointer batch.
double engine_cycles(const GemmSmallShape& s, const GemmSmallConfig& c) {
  if (!gemm_small_has(s, GemmSmallStep::pointer)) return 0;
  int copies = c.load == GemmSmallLoad::bulk ? (gemm_small_loads_c(s, c) ? 3 : 2) : 0;
  if (c.store == GemmSmallStore::bulk) ++copies;
  return c.matrices_per_block * copies * engine;
}

// Returns how many tiles are being loaded while a block computes.
int tiles_ahead(const GemmSmallConfig& c) {
  const bool late = c.store == GemmSmallStore::bulk && c.refill == GemmSmallRefill::late && c.stages > 1;
  return std::max(0, c.stages - (late ? 2 : 1));
}

// Forecasts warps that walk over lists, with counted instructions for list entries and staged pieces. Without
// staging each warp has one product being loaded.
double forecast_of_sums(const GemmSmallShape& s, const GemmSmallConfig& c, DType dtype,
                        const GpuLimits& limits, const GemmSmallCost& cost) {
  constexpr double of_product = 40, of_staged = 30, of_piece = 6, pieces_together = 32;
  const int bytes = int(size_bytes(dtype));
  const double moved = double(s.m * s.k + s.k * s.n) * bytes, memory = moved / bandwidth;
  const bool staged = !gemm_small_is_direct(c.load);
  const int passes = ceil_div(gemm_small_tiles_m(s, c) * gemm_small_tiles_n(s, c), 32);
  GemmSmallCost all = cost;
  all.issue += passes * of_product / 4;
  if (staged) all.issue += passes * (of_staged + of_piece * std::ceil(moved / 16 / pieces_together)) / 4;
  const double warps = gemm_small_blocks(s, c, dtype, limits) * c.threads / 32.0;
  // A warp waits for its product, and then multiplies it alone.
  constexpr double cycles_per_instruction = 4;
  const double computing = all.issue * 4 * cycles_per_instruction;
  const double waiting = (latency / (staged ? c.stages : 1) + computing) / warps;
  constexpr double sharpness = 5;
  const double together =
      std::pow(std::pow(memory, sharpness) + std::pow(all.cycles(), sharpness) + std::pow(waiting, sharpness),
               1 / sharpness);
  // On an H100 (results/h100/gemm_sums-20261127-configs.jsonl.gz) direct loads reach 0.4 to 0.8 of the speed
  // of staged ones; a third and a fourth stage gain a little.
  const double way = staged ? 1 - 0.04 / (c.stages - 1) : 0.7;
  return way * memory / together / passes;
}

}  // namespace

double GemmSmallCost::cycles() const {
  const double most = std::max({shared, issue, multiply});
  return most + 0.1 * (shared + issue + multiply - most);
}

GemmSmallCost gemm_small_cost(const GemmSmallShape& s, const GemmSmallConfig& c, DType dtype) {
  return s.sizes_vary ? cost_of_quarters(s, c, dtype) : cost_of_sizes(s, c, dtype);
}

int gemm_small_registers(const GemmSmallConfig& c, DType dtype) {
  const int words = int(size_bytes(dtype)) / 4;
  return (c.thread_m * c.thread_n + c.thread_m + c.thread_n) * words + 24;
}

int gemm_small_blocks(const GemmSmallShape& s, const GemmSmallConfig& c, DType dtype,
                      const GpuLimits& limits) {
  // Below compute capability 8.0 nothing is reserved, and kernels that read directly need nothing.
  const int shared =
      std::max(1, gemm_small_memory(s, c, int(size_bytes(dtype))).total_bytes + limits.shared_bytes_reserved);
  return std::max(
      1, std::min({limits.shared_bytes_per_multiprocessor / shared,
                   limits.registers_per_multiprocessor / (gemm_small_registers(c, dtype) * c.threads),
                   limits.threads_per_multiprocessor / c.threads, 32}));
}

bool gemm_small_tiles_of(int piece, const GemmSmallShape& s, const GemmSmallConfig& c, int element_bytes) {
  const auto fits = [&](const GemmSmallOperand& o) {
    return o.step != GemmSmallStep::packed || o.elements * c.matrices_per_block * element_bytes % piece == 0;
  };
  return fits(gemm_small_a(s, element_bytes)) && fits(gemm_small_b(s, element_bytes)) &&
         fits(gemm_small_c(s, element_bytes));
}

double gemm_small_forecast(const GemmSmallShape& s, const GemmSmallConfig& c, DType dtype,
                           const GpuLimits& limits, const GemmSmallCost& cost, std::int64_t count) {
  if (s.sums != GemmSmallSums::none) return forecast_of_sums(s, c, dtype, limits, cost);
  const int bytes = int(size_bytes(dtype));
  const double memory = c.matrices_per_block * moved_bytes(s, bytes) / bandwidth;
  const Turn one = cost_of_turn(s, c, cost);
  const int blocks = gemm_small_blocks(s, c, dtype, limits);
  if (count > 0 && count < std::int64_t(c.matrices_per_block) * blocks * limits.multiprocessors) {
    // One wave of blocks, each with one iteration: nothing overlaps within a block.
    const double tiles = std::ceil(double(count) / c.matrices_per_block / limits.multiprocessors);
    return memory * double(count) / limits.multiprocessors / c.matrices_per_block /
           (latency + one.alone + tiles * (memory + one.computing));
  }
  const double turn_cycles = std::max(one.computing, one.alone);
  // In a ring the next problems of the same tile are loaded while one is multiplied.
  const double period = gemm_small_rings(s, c)
                            ? turn_cycles
                            : std::max(turn_cycles, (latency + turn_cycles) / (tiles_ahead(c) + 1));
  const double waiting = period / blocks;
  // Fitted with few_warps_lose and cycles_per_instruction to
  // results/h200/gemm_small-20261122-screen.jsonl.gz: the first choice reaches 0.96 of a case's best on
  // average; the error is 0.11 (root mean square).
  constexpr double sharpness = 5;
  const double all = std::pow(std::pow(memory, sharpness) + std::pow(one.computing, sharpness) +
                                  std::pow(waiting, sharpness) + std::pow(engine_cycles(s, c), sharpness),
                              1 / sharpness);
  const bool steady = tiles_ahead(c) > 0 || gemm_small_rings(s, c);
  const double unsteady = steady ? 1 : 0.98;  // otherwise only other blocks keep the memory busy
  return memory / all * share_left_by_splits(s, c, bytes) * unsteady * share_of_warps(c, blocks);
}

}  // namespace tilewright
