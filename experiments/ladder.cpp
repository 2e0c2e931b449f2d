// One kernel of large GEMM with its techniques switched on one after the other.
#include "ladder.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

namespace tilewright {
namespace {

using C = GemmLargeConfig;

// Takes the steps that the space allows; a refused change is undone, so that the next step differs by its own
// change alone.
struct Ladder {
  Space<GemmLargeConfig> space;
  C c;
  std::vector<GemmLargeStep> steps;

  template <class Change>
  void step(const std::string& name, Change&& change) {
    C changed = c;
    change(changed);
    if (!space.contains(changed) || (changed == c && !steps.empty())) return;
    c = changed;
    steps.push_back({name, c});
  }
};

// Returns the chapter's kernel before any technique: tiles of 128x128x8, 8x8 of a thread.
C plain_kernel(DType dtype) {
  const int bytes = std::max(4, static_cast<int>(size_bytes(dtype)));
  C c{.tile_m = 128,
      .tile_n = 128,
      .tile_k = 8,
      .warp_m = 64,
      .warp_n = 32,
      .thread_m = 8,
      .thread_n = 8,
      .product = GemmLargeProduct::fma,
      .k_unroll = 1,
      .load = GemmLargeLoad::plain,
      .load_bytes = bytes,
      .stages = 1,
      .shared_bytes = bytes,
      .layout = GemmLargeLayout::padding,
      .raster = 1,
      .boundary = GemmLargeBoundary::predicate};
  if (is_complex(dtype)) std::tie(c.tile_m, c.tile_n, c.warp_m, c.thread_m) = std::tuple(64, 64, 32, 4);
  if (dtype == DType::c128) std::tie(c.warp_n, c.thread_n) = std::tuple(16, 4);
  return c;
}

// Adds P2's own techniques, in the order of its chapter.
void add_classic_steps(Ladder& ladder) {
  ladder.step("plain", [](C&) {});
  ladder.step("register prefetch", [](C& c) { c.load = GemmLargeLoad::registers; });
  ladder.step("unroll", [](C& c) { c.k_unroll = 0; });
  ladder.step("128-bit shared reads", [](C& c) { c.shared_bytes = 16; });
  ladder.step("128-bit global reads", [](C& c) { c.load_bytes = 16; });
  ladder.step("double buffering", [](C& c) { c.stages = 2; });
  ladder.step("shared prefetch", [](C& c) { c.prefetch = true; });
  ladder.step("residue path", [](C& c) { c.boundary = GemmLargeBoundary::residue; });
}

// Tensor cores take sums from warps of another shape, and prefetch no steps as they have few.
void take_tensor_cores(C& c, DType dtype) {
  c.product = GemmLargeProduct::mma_8x8x4;
  std::tie(c.thread_m, c.thread_n, c.prefetch) = std::tuple(0, 0, false);
  std::tie(c.warp_m, c.warp_n) = dtype == DType::f64 ? std::tuple(32, 64) : std::tuple(32, 16);
}

// Adds techniques of newer devices.
void add_modern_steps(Ladder& ladder, DType dtype) {
  ladder.step("async copies", [](C& c) { c.load = GemmLargeLoad::async; });
  ladder.step("four stages", [](C& c) { c.stages = 4; });
  if (dtype == DType::f32)
    ladder.step("thread tile 8x16",
                [](C& c) { std::tie(c.tile_n, c.warp_n, c.thread_n) = std::tuple(256, 64, 16); });
  if (dtype == DType::f64 || dtype == DType::c128) {
    ladder.step("tensor cores 8x8x4", [=](C& c) { take_tensor_cores(c, dtype); });
    ladder.step("tensor cores 16x8x4", [](C& c) { c.product = GemmLargeProduct::mma_16x8x4; });
    if (dtype == DType::f64) ladder.step("tile_k 16", [](C& c) { c.tile_k = 16; });
    ladder.step("swizzle", [](C& c) { c.layout = GemmLargeLayout::swizzle; });
  }
  ladder.step("raster", [](C& c) { c.raster = 8; });
  ladder.step("tensor copies", [](C& c) {
    c.load = GemmLargeLoad::tensor;
    c.boundary = GemmLargeBoundary::none;
    if (!gemm_large_is_mma(c)) c.layout = GemmLargeLayout::plain;
  });
  if (dtype == DType::f64) {
    ladder.step("tensor cores 16x8x8", [](C& c) { c.product = GemmLargeProduct::mma_16x8x8; });
    ladder.step("three stages of k 32", [](C& c) { std::tie(c.stages, c.tile_k) = std::tuple(3, 32); });
  }
  // Prefetching takes the registers that a later refill would spare, and gained nothing (shared prefetch).
  if (!gemm_large_is_mma(ladder.c)) {
    ladder.step("slack of a turn", [](C& c) { std::tie(c.slack, c.prefetch) = std::tuple(1, false); });
    ladder.step("multiply-adds in order",
                [](C& c) { std::tie(c.ptxas_level, c.k_unroll) = std::tuple(1, c.prefetch ? 0 : 2); });
  }
}

// Adds two ways to fill the last wave, the second replacing the first, and a step with neither: they lack the
// registers for prefetching fragments, whose gain is measured against the last step before them.
void add_schedules(Ladder& ladder, const GemmProblem& p, const GemmLargeShape& s, const GpuLimits& limits) {
  const auto cost = [&](const C& c) { return gemm_large_cost(p, s, c, limits).cycles(); };
  ladder.step("dependent launch", [](C& c) { c.dependent_launch = true; });
  ladder.step("tail_k", [&](C& c) {
    const C whole = c;
    for (const int parts : {2, 3, 4, 6, 8, 16, 32}) {
      C tail = whole;
      tail.tail_k = parts;
      if (ladder.space.contains(tail) && (c.tail_k == 1 || cost(tail) < cost(c))) c = tail;
    }
  });
  ladder.step("stream-k",
              [](C& c) { std::tie(c.tail_k, c.stream_k, c.persistent) = std::tuple(1, 2, true); });
  if (p.dtype == DType::f64)
    ladder.step("fragments read ahead", [](C& c) {
      std::tie(c.tail_k, c.stream_k, c.persistent, c.prefetch) = std::tuple(1, 0, false, true);
    });
}

}  // namespace

std::vector<GemmLargeStep> gemm_large_ladder(const GemmProblem& p, const GemmLargeShape& s,
                                             const GpuLimits& limits) {
  Ladder ladder{gemm_large_space(p, s, limits), plain_kernel(p.dtype), {}};
  add_classic_steps(ladder);
  add_modern_steps(ladder, p.dtype);
  add_schedules(ladder, p, s, limits);
  return std::move(ladder.steps);
}

std::vector<GemmLargeStep> gemm_large_chapter(const GemmProblem& p, const GemmLargeShape& s,
                                              const GpuLimits& limits) {
  const Space<GemmLargeConfig> space = gemm_large_space(p, s, limits);
  std::vector<GemmLargeStep> rows;
  const auto row = [&](const std::string& name, C c) {
    c.k_unroll = 0;
    c.boundary = GemmLargeBoundary::none;  // the listings take sizes that tiles divide
    if (!space.contains(c)) c.boundary = GemmLargeBoundary::predicate;
    if (space.contains(c)) rows.push_back({name, c});
  };
  C c = plain_kernel(p.dtype);
  c.load = GemmLargeLoad::registers;
  row("unroll", c);
  c.shared_bytes = 16;
  row("unroll+128b", c);
  c.prefetch = true;
  row("unroll+128b+prefsmem", c);
  std::tie(c.load, c.stages, c.prefetch) = std::tuple(GemmLargeLoad::plain, 2, false);
  row("unroll+db+128b", c);
  c.prefetch = true;
  row("unroll+db+128b+prefsmem", c);
  return rows;
}

}  // namespace tilewright
