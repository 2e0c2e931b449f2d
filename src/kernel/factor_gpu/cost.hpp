// What a config of factor_gpu costs a multiprocessor for one matrix, roughly, and the config that costs the
// least: counts of instructions and latencies of Hopper, where nothing was measured.
#pragma once

#include "kernel/factor_gpu/config.hpp"

namespace tilewright {

// What a config may use of a multiprocessor, and the bytes that it moves in a cycle.
struct FactorGpuRoom {
  int registers = 16384;  // of each of the four parts of a multiprocessor, which have their own warps
  int shared_bytes = 233472, shared_bytes_reserved = 1024, shared_bytes_per_block = 232448;
  int threads = 2048, blocks = 32;
  double bytes_per_cycle = 17;
};

// Registers of a thread, rounded up; above 255 they spill.
constexpr int factor_gpu_registers(const FactorGpuShape& s, const FactorGpuConfig& c, int element_bytes) {
  const int words = element_bytes / 4, rows = factor_gpu_rows(s, c);
  if (c.direct > 0) return factor_gpu_up(16 + c.direct * (s.n * s.n * words + s.n + 1), 8);
  int held = 0;
  if (s.method != FactorGpuMethod::none) held = rows * s.n + s.n / 4;  // some of a line is on its way
  if (s.solve != FactorGpuSolve::none && s.n > held) held = s.n;
  const bool is_lu = s.method == FactorGpuMethod::lu || s.method == FactorGpuMethod::lu_without_pivots;
  return factor_gpu_up(held * words + (is_lu ? 60 + rows : 56), 8);
}

// Blocks that fit a multiprocessor at once.
constexpr int factor_gpu_resident(const FactorGpuShape& s, const FactorGpuConfig& c, int element_bytes,
                                  const FactorGpuRoom& room) {
  const int registers = factor_gpu_registers(s, c, element_bytes);
  const int bytes = factor_gpu_memory(s, c, element_bytes).total;
  if (bytes > room.shared_bytes_per_block || registers > 255) return 0;
  int most = 4 * (room.registers / (32 * registers)) / c.warps;
  const auto at_most = [&](int limit) { most = limit < most ? limit : most; };
  at_most(room.shared_bytes / (bytes + room.shared_bytes_reserved));
  at_most(room.threads / factor_gpu_threads(c));
  at_most(room.blocks);
  return most;
}

// Bytes of device memory that a matrix takes both ways.
constexpr double factor_gpu_bytes(const FactorGpuShape& s, int element_bytes) {
  const double n = s.n;
  const bool half = s.method == FactorGpuMethod::cholesky || s.solve == FactorGpuSolve::triangle ||
                    s.solve == FactorGpuSolve::cholesky;
  const double a = half ? n * (n + 1) / 2 : n * n;
  double elements = s.writes_a ? 2 * a : a;
  if (factor_gpu_has_b(s)) elements += (s.identity ? 1 : 2) * n * s.nrhs;
  return elements * element_bytes;
}

// Instructions of a warp and the cycles that they take one after the other, for all matrices of the warp.
struct FactorGpuWork {
  double instructions = 0, latency = 0;
};
constexpr FactorGpuWork factor_gpu_work(const FactorGpuShape& s, const FactorGpuConfig& c, int element_bytes,
                                        bool complex) {
  const double n = s.n, rows = factor_gpu_rows(s, c), real_words = element_bytes / (complex ? 8.0 : 4.0);
  const double fma = real_words * (complex ? 4 : 1), divide = 15 * real_words * (complex ? 4 : 1);
  double stages = 0;
  for (int lanes = 1; lanes < c.lanes; lanes *= 2) ++stages;
  FactorGpuWork w;
  const auto pieces = [&](double elements, FactorGpuPieces kind) {
    return elements / (kind == FactorGpuPieces::elements ? 1 : 16 / element_bytes);
  };
  double copies = pieces(n * n, s.a_pieces) * (s.writes_a ? 2 : 1);
  if (factor_gpu_has_b(s)) copies += pieces(n * s.nrhs, s.b_pieces) * (s.identity ? 1 : 2);
  if (c.direct > 0) {
    w.instructions = c.direct * (20 + 5 * copies + n * (divide + 4 * n + n * n / 2 * (fma + 1)));
    w.latency = 1500 + w.instructions;
    return w;
  }
  w.instructions = 15 * copies / c.lanes, w.latency = 1500;
  const double width = n / 2 + c.run / 2.0, line = width * element_bytes / 16 + 2;
  if (s.method == FactorGpuMethod::cholesky) {
    w.instructions += n * (divide + rows * 4 + line + rows * width * fma);
    w.latency += n * (40 * real_words + 60 + rows * width * fma);
  } else if (s.method != FactorGpuMethod::none) {
    const double search = rows * 4 + stages * 8 + 10, choose = (rows - 1) * width * element_bytes / 4;
    w.instructions += n * (search + 1.5 * choose + divide + 2 * line + rows * (width * fma + 8));
    w.latency += n * (stages * 60 + 60 * real_words + 100 + choose + rows * width * fma);
  }
  if (factor_gpu_has_b(s)) {
    const double triangles = s.solve == FactorGpuSolve::triangle ? 1 : 2;
    const double sides = (s.nrhs + c.lanes - 1) / c.lanes;
    w.instructions += triangles * sides * n * (n / 2 * (fma + 1) + divide);
    w.latency += triangles * sides * n * (60 * real_words + n / 2 * (fma + 1));
  }
  return w;
}

// Cycles of a multiprocessor for one matrix.
constexpr double factor_gpu_cycles(const FactorGpuShape& s, const FactorGpuConfig& c, int element_bytes,
                                   bool complex, const FactorGpuRoom& room = {}) {
  const int resident = factor_gpu_resident(s, c, element_bytes, room);
  if (resident == 0) return 1e30;
  const FactorGpuWork w = factor_gpu_work(s, c, element_bytes, complex);
  const double matrices = double(factor_gpu_matrices(c)) / c.warps, warps = double(resident) * c.warps;
  const double memory = factor_gpu_bytes(s, element_bytes) / room.bytes_per_cycle;
  // Long code without loops comes from caches farther away.
  constexpr double near_bytes = 32 << 10, slower_bytes = 128 << 10;
  const double code = 16 * w.instructions * (c.run > 0 ? 4.0 / c.run : 1.0);
  const double fetch = code > near_bytes ? 1 + (code - near_bytes) / slower_bytes : 1;
  const double issue = fetch * w.instructions / matrices / 4, latency = w.latency / (matrices * warps);
  const double most = memory > issue    ? (memory > latency ? memory : latency)
                      : issue > latency ? issue
                                        : latency;
  return most + 0.3 * (issue + latency) + 0.02 * memory;  // bounds that are near each other add up in part
}

// Blocks of about this much shared memory are started seldom enough and leave room for others.
constexpr int factor_gpu_warps(const FactorGpuShape& s, FactorGpuConfig c, int element_bytes) {
  constexpr int goal_bytes = 8 << 10, most_warps = 8;
  c.warps = 1;
  const int each = factor_gpu_memory(s, c, element_bytes).total;
  while (c.warps < most_warps && c.warps * each < goal_bytes) c.warps *= 2;
  while (!factor_gpu_begins_whole(s, c, element_bytes)) c.warps *= 2;
  return c.warps;
}

// Blocks that the compiler must leave registers for: fewer than fit where it may want more than the estimate.
constexpr int factor_gpu_least_blocks(const FactorGpuShape& s, const FactorGpuConfig& c, int element_bytes,
                                      const FactorGpuRoom& room) {
  const int resident = factor_gpu_resident(s, c, element_bytes, room);
  const int registers = factor_gpu_registers(s, c, element_bytes);
  constexpr int few = 96, some = 136;
  const int enough = (registers <= few ? 16 : registers <= some ? 12 : 8) / c.warps;
  return resident < enough || enough == 0 ? resident : enough;
}

// Matrices of a thread where a kernel that goes directly is faster: with matrices of two rows instructions
// are the bound, with larger ones neighbours in a warp read places that lie far apart. So do the stores of a
// triangle that takes more than one vector.
constexpr int factor_gpu_direct(const FactorGpuShape& s, int element_bytes) {
  constexpr int most_rows = 2;
  const bool is_spread =
      s.method == FactorGpuMethod::cholesky && s.n * s.n * element_bytes > factor_gpu_vector_bytes;
  if (!factor_gpu_may_go_directly(s) || s.n > most_rows || is_spread) return 0;
  return factor_gpu_together(s, element_bytes);
}

// Returns the config for a shape whose matrices fit; lanes is 0 if not even one warp's do.
constexpr FactorGpuConfig factor_gpu_config(const FactorGpuShape& s, int element_bytes, bool complex,
                                            const FactorGpuRoom& room = {}) {
  if (const int direct = factor_gpu_direct(s, element_bytes); direct > 0) {
    FactorGpuConfig c{.warps = 8, .direct = direct};
    c.blocks_per_sm = factor_gpu_least_blocks(s, c, element_bytes, room);
    return c;
  }
  FactorGpuConfig best{.lanes = 0};
  double least = 1e29;
  for (int lanes = 1; lanes <= 32; lanes *= 2) {
    if (lanes > 1 && lanes / 2 >= s.n && (!factor_gpu_has_b(s) || lanes / 2 >= s.nrhs)) break;
    for (int run = 0; run <= 16; run += 8) {
      if (run > 0 && (s.method == FactorGpuMethod::none || s.n <= run)) continue;
      FactorGpuConfig c{.lanes = lanes, .run = run};
      c.warps = factor_gpu_warps(s, c, element_bytes);
      const double cycles = factor_gpu_cycles(s, c, element_bytes, complex, room);
      if (cycles >= least) continue;
      least = cycles, best = c;
      best.blocks_per_sm = factor_gpu_least_blocks(s, c, element_bytes, room);
    }
  }
  return best;
}

}  // namespace tilewright
