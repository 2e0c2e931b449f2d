// The space of Anzt et al. 2015 (Fig. 3 and section 2.3.2), all 15 axes of it, with the limits of its Kepler
// GPU: a declared space large enough to test whether walks skip points that cannot survive. No kernel belongs
// to it.
#pragma once

#include "kernel/space.hpp"

namespace tilewright {

// The numbers first, first + step, ..., up to and including last; a negative step counts down.
struct Range {
  struct Iterator {
    int at, last, step;
    int operator*() const { return at; }
    Iterator& operator++() {
      at += step;
      return *this;
    }
    bool operator!=(const Iterator&) const { return step > 0 ? at <= last : at >= last; }
  };
  Iterator begin() const { return first_; }
  Iterator end() const { return first_; }
  Iterator first_;
};
inline Range range(int first, int last, int step = 1) { return {{first, last, step}}; }

struct KeplerConfig {
  int dim_m = 0, dim_n = 0;                                // threads of a block
  int blk_m = 0, blk_n = 0, blk_k = 0;                     // tile of C, and the depth of its stripes
  int blk_m_a = 0, blk_k_a = 0, blk_k_b = 0, blk_n_b = 0;  // shapes of the threads that read A and B
  bool simd = false, texture_a = false, texture_b = false, interleaved = false;
  bool eight_byte_banks = false, prefer_l1 = false;
};

struct KeplerLimits {
  int tile = 0;   // largest blk_m, blk_n
  int depth = 0;  // largest blk_k
};

namespace kepler {

// Limits of compute capability 3.5, in double precision.
constexpr int thread_limit = 1024, warp = 32, register_limit = 65536, registers_per_thread = 255;
constexpr int shared_bytes = 48 * 1024, element_bytes = 8, element_registers = 2, least_threads = 512;
constexpr int binary_axes = 6;

using C = KeplerConfig;
inline int threads(const C& c) { return c.dim_m * c.dim_n; }
inline int tile_registers(const C& c) { return c.blk_m * c.blk_n * element_registers; }
inline int stripe_bytes(const C& c) { return (c.blk_m + c.blk_n) * c.blk_k * element_bytes; }
inline int lanes(const C& c) { return c.simd ? 2 : 1; }

}  // namespace kepler

template <>
struct FieldList<KeplerConfig> {
  using C = KeplerConfig;
  static constexpr auto value = std::make_tuple(
      field("dim_m", &C::dim_m), field("dim_n", &C::dim_n), field("blk_m", &C::blk_m),
      field("blk_n", &C::blk_n), field("blk_k", &C::blk_k), field("blk_m_a", &C::blk_m_a),
      field("blk_k_a", &C::blk_k_a), field("blk_k_b", &C::blk_k_b), field("blk_n_b", &C::blk_n_b),
      field("simd", &C::simd), field("texture_a", &C::texture_a), field("texture_b", &C::texture_b),
      field("interleaved", &C::interleaved), field("eight_byte_banks", &C::eight_byte_banks),
      field("prefer_l1", &C::prefer_l1));
};

namespace kepler {

inline Space<C> axes(const KeplerLimits& limits) {
  const std::vector<bool> both{false, true};
  Space<C> space;
  space.axis(&C::dim_m, [=](const C&) { return range(16, limits.tile, 16); })
      .axis(&C::dim_n, [=](const C&) { return range(16, limits.tile, 16); })
      .axis(&C::blk_m, [=](const C& c) { return range(c.dim_m, limits.tile, c.dim_m); })
      .axis(&C::blk_n, [=](const C& c) { return range(c.dim_n, limits.tile, c.dim_n); })
      .axis(&C::blk_k, [=](const C&) { return range(1, limits.depth); })
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

// Each constraint names the axes that it reads, so the order below is the paper's and the order of checking
// is the walk's.
inline Space<C> stencil(const KeplerLimits& limits) {
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

// Returns the points without constraints. m and n are independent, the depth is shared by A and B: (sum over
// dim_m, blk_m of blk_m)^2 * (sum over blk_k of blk_k^2) * 2^6.
inline double raw_points(const KeplerLimits& limits) {
  double sides = 0, depths = 0;
  for (int dim = 16; dim <= limits.tile; dim += 16)
    for (int blk = dim; blk <= limits.tile; blk += dim) sides += blk;
  for (int k = 1; k <= limits.depth; ++k) depths += double(k) * k;
  return sides * sides * depths * double(1 << binary_axes);
}

}  // namespace kepler
}  // namespace tilewright
