// bench_space: how fast a declared space is walked. The space is that of Anzt et al. 2015 (Fig. 3 and section
// 2.3.2), all 15 axes of it, with the limits of the Kepler GPU it was made for; what is timed is finding
// every survivor of its constraints. No kernel is made. `bench_space FILE` also writes the table as JSON
// lines.
#include "kernel/space.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <fstream>

#include "device/cpu.hpp"
#include "measure/ceilings.hpp"
#include "measure/clock.hpp"

namespace tilewright {
namespace {

struct StencilConfig {
  int dim_m = 0, dim_n = 0;                                // threads of a block
  int blk_m = 0, blk_n = 0, blk_k = 0;                     // tile of C, and the depth of its stripes
  int blk_m_a = 0, blk_k_a = 0, blk_k_b = 0, blk_n_b = 0;  // how the threads are arranged to read A and B
  bool simd = false, texture_a = false, texture_b = false, interleaved = false;
  bool eight_byte_banks = false, prefer_l1 = false;
};

struct Limits {
  int tile = 0;   // largest blk_m, blk_n
  int depth = 0;  // largest blk_k
};

// Kepler (compute capability 3.5), double precision.
constexpr int thread_limit = 1024, warp = 32, register_limit = 65536, registers_per_thread = 255;
constexpr int shared_bytes = 48 * 1024, element_bytes = 8, element_registers = 2, least_threads = 512;
constexpr int binary_axes = 6;

using C = StencilConfig;
int threads(const C& c) { return c.dim_m * c.dim_n; }
int tile_registers(const C& c) { return c.blk_m * c.blk_n * element_registers; }
int stripe_bytes(const C& c) { return (c.blk_m + c.blk_n) * c.blk_k * element_bytes; }
int lanes(const C& c) { return c.simd ? 2 : 1; }

}  // namespace

template <>
struct FieldList<StencilConfig> {
  static constexpr auto value = std::make_tuple(
      field("dim_m", &C::dim_m), field("dim_n", &C::dim_n), field("blk_m", &C::blk_m),
      field("blk_n", &C::blk_n), field("blk_k", &C::blk_k), field("blk_m_a", &C::blk_m_a),
      field("blk_k_a", &C::blk_k_a), field("blk_k_b", &C::blk_k_b), field("blk_n_b", &C::blk_n_b),
      field("simd", &C::simd), field("texture_a", &C::texture_a), field("texture_b", &C::texture_b),
      field("interleaved", &C::interleaved), field("eight_byte_banks", &C::eight_byte_banks),
      field("prefer_l1", &C::prefer_l1));
};

namespace {

Space<C> axes(const Limits& limits) {
  const std::vector<bool> both{false, true};
  Space<C> space;
  space.axis(&C::dim_m, range(16, limits.tile, 16))
      .axis(&C::dim_n, range(16, limits.tile, 16))
      .axis(&C::blk_m, [=](const C& c) { return range(c.dim_m, limits.tile, c.dim_m); })
      .axis(&C::blk_n, [=](const C& c) { return range(c.dim_n, limits.tile, c.dim_n); })
      .axis(&C::blk_k, range(1, limits.depth))
      .axis(&C::simd, both)
      .axis(&C::blk_m_a, [](const C& c) { return range(c.blk_m, 1, -1); })
      .axis(&C::blk_k_a, [](const C& c) { return range(c.blk_k, 1, -1); })
      .axis(&C::blk_k_b, [](const C& c) { return range(c.blk_k, 1, -1); })
      .axis(&C::blk_n_b, [](const C& c) { return range(c.blk_n, 1, -1); })
      .axis(&C::texture_a, both)
      .axis(&C::texture_b, both)
      .axis(&C::interleaved, both)
      .axis(&C::eight_byte_banks, both)
      .axis(&C::prefer_l1, both);
  return space;
}

// Each names the axes it reads, so the order below is the paper's and the order of checking is the walk's.
Space<C> stencil(const Limits& limits) {
  Space<C> space = axes(limits);
  space
      .require(
          "threads of a block within the limit", [](const C& c) { return threads(c) <= thread_limit; },
          &C::dim_m, &C::dim_n)
      .require(
          "registers of a block within the limit",
          [](const C& c) { return tile_registers(c) <= register_limit; }, &C::blk_m, &C::blk_n)
      .require(
          "registers of a thread within the limit",
          [](const C& c) { return tile_registers(c) <= registers_per_thread * threads(c); }, &C::blk_m,
          &C::blk_n)
      .require(
          "shared memory of a block within the limit",
          [](const C& c) { return stripe_bytes(c) <= shared_bytes; }, &C::blk_m, &C::blk_n, &C::blk_k)
      .require(
          "whole warps", [](const C& c) { return threads(c) % warp == 0; }, &C::dim_m, &C::dim_n)
      .require(
          "four multiply-adds per byte of shared memory",
          [](const C& c) { return c.blk_m * c.blk_n >= 4 * (c.blk_m + c.blk_n) * element_bytes; }, &C::blk_m,
          &C::blk_n)
      .require(
          "occupancy by registers",
          [](const C& c) { return register_limit / tile_registers(c) * threads(c) >= least_threads; },
          &C::blk_m, &C::blk_n)
      .require(
          "occupancy by shared memory",
          [](const C& c) { return shared_bytes / stripe_bytes(c) * threads(c) >= least_threads; }, &C::blk_m,
          &C::blk_n, &C::blk_k)
      .require(
          "the readers of A divide its columns",
          [](const C& c) { return c.blk_m % (c.blk_m_a * lanes(c)) == 0; }, &C::simd, &C::blk_m_a)
      .require(
          "the readers of A divide the depth", [](const C& c) { return c.blk_k % c.blk_k_a == 0; },
          &C::blk_k_a)
      .require(
          "the readers of B divide the depth",
          [](const C& c) { return c.blk_k % (c.blk_k_b * lanes(c)) == 0; }, &C::simd, &C::blk_k_b)
      .require(
          "the readers of B divide its columns", [](const C& c) { return c.blk_n % c.blk_n_b == 0; },
          &C::blk_n_b)
      .require(
          "all threads read A", [](const C& c) { return c.blk_m_a * c.blk_k_a == threads(c); }, &C::blk_m_a,
          &C::blk_k_a)
      .require(
          "all threads read B", [](const C& c) { return c.blk_k_b * c.blk_n_b == threads(c); }, &C::blk_k_b,
          &C::blk_n_b);
  return space;
}

// Points without constraints. m and n are independent, the depth is shared by A and B:
// (sum over dim_m, blk_m of blk_m)^2 * (sum over blk_k of blk_k^2) * 2^6.
double raw_points(const Limits& limits) {
  double sides = 0, depths = 0;
  for (int dim = 16; dim <= limits.tile; dim += 16)
    for (int blk = dim; blk <= limits.tile; blk += dim) sides += blk;
  for (int k = 1; k <= limits.depth; ++k) depths += double(k) * k;
  return sides * sides * depths * double(1 << binary_axes);
}

nlohmann::json walk(const Limits& limits) {
  const Space<C> space = stencil(limits);
  std::vector<Removed> removed;
  std::uint64_t survivors = 0;
  const double begin = wall_seconds();
  space.visit([&](const C&) { ++survivors; });
  const double seconds = wall_seconds() - begin;
  space.visit([](const C&) {}, {}, &removed);
  fmt::print("{} axes, tiles to {}, depth to {}: {:.3g} raw points, {} survivors in {:.3f} s\n{}\n",
             space.axis_names().size(), limits.tile, limits.depth, raw_points(limits), survivors, seconds,
             to_text(removed));
  nlohmann::json line{{"family", "space"},
                      {"axes", space.axis_names().size()},
                      {"largest_tile", limits.tile},
                      {"largest_depth", limits.depth},
                      {"raw_points", raw_points(limits)},
                      {"survivors", survivors},
                      {"seconds", seconds},
                      {"device", cpu_info().model},
                      {"time", time_now()}};
  for (const Removed& r : removed)
    line["removed"].push_back({{"reason", r.reason}, {"after", r.after}, {"asked", r.asked}, {"cut", r.cut}});
  return line;
}

}  // namespace
}  // namespace tilewright

int main(int argc, char** argv) {
  using namespace tilewright;
  std::ofstream file;
  if (argc > 1) {
    file.open(argv[1]);
    file << nlohmann::json{{"command", fmt::format("bench_space {}", argv[1])}}.dump() << '\n';
  }
  for (const Limits& limits : {Limits{64, 8}, Limits{128, 16}, Limits{256, 64}}) {
    const auto line = walk(limits);
    if (file.is_open()) file << line.dump() << '\n';
  }
  if (argc > 1 && !file.flush()) {
    fmt::print(stderr, "bench_space: '{}' cannot be written.\n", argv[1]);
    return 1;
  }
  return 0;
}
