// Configs of large GEMM small enough to be emulated thread by thread, and all pairs of operations on one.
#pragma once

#include "emulation/gemm_large.hpp"

namespace tilewright::emulation {

using Case = LargeCase;
using Config = GemmLargeConfig;
using Shape = GemmLargeShape;

inline constexpr Config mma_small{
    .tile_m = 32, .tile_n = 64, .tile_k = 16, .warp_m = 32, .warp_n = 32, .stages = 3, .raster = 2};
inline constexpr Config fma_small = fields<Config>(
    "tile_m=64 tile_n=64 tile_k=32 warp_m=32 warp_n=32 thread_m=8 thread_n=4 product=fma "
    "stages=3");
constexpr Config with(Config c, GemmLargeProduct product) {
  c.product = product;
  return c;
}
constexpr Config async(Config c, GemmLargeLayout layout, int load_bytes = 16,
                       GemmLargeBoundary boundary = GemmLargeBoundary::residue) {
  c.load = GemmLargeLoad::async;
  c.layout = layout;
  c.load_bytes = load_bytes;
  c.boundary = boundary;
  return c;
}

template <class T, Config C, int Align = 16>
void all_operations(const Case& one) {
  constexpr auto aligned = [](Shape s) {
    s.align_a = s.align_b = s.align_c = Align;
    return s;
  };
  expect_large<T, aligned({}), C>(one);
  expect_large<T, aligned({.trans_b = true, .reads_c = true}), C>(one);
  expect_large<T, aligned({.trans_a = true, .reads_c = true}), C>(one);
  expect_large<T, aligned({.trans_a = true, .trans_b = true}), C>(one);
}

}  // namespace tilewright::emulation
