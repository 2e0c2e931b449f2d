// The streaming loops of one GPU: eight ways to read A and B, read C or not, and write C, with the lengths in
// any proportion. Memory-bound kernels with the same mix are compared with the best of them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "device/gpu/gpu.hpp"
#include "kernel/jit/stencil.hpp"

namespace tilewright {

// Bytes to stream of each operand; 0 if one matrix serves a whole batch.
struct GpuStreamMix {
  double a_bytes = 0, b_bytes = 0, c_bytes = 0;
  bool reads_c = false;

  double moved() const { return a_bytes + b_bytes + (reads_c ? 2 : 1) * c_bytes; }
  // Returns the same proportions with this length of the longest: a short mix does not measure the bandwidth.
  GpuStreamMix as_long_as(double longest_bytes) const {
    const double factor = longest_bytes / std::max({a_bytes, b_bytes, c_bytes});
    return {a_bytes * factor, b_bytes * factor, c_bytes * factor, reads_c};
  }
};

class GpuStreams {
 public:
  // Compiles the loops that the device has instructions for, several at a time.
  GpuStreams(const Gpu& gpu, const StencilCompiler& compiler);

  struct Loop {
    std::string name;
    GpuModule module;
    GpuFunction function;
    GpuLaunch launch;
    int tile_bytes = 0;  // of the longest operand
  };
  const std::vector<Loop>& loops(bool reads_c) const { return loops_[reads_c]; }

  // Queues one pass of the loop; returns the bytes that it moves, which rounding to tiles makes slightly
  // fewer than the mix.
  static double launch(const Loop& loop, const GpuStreamMix& mix, const void* a, const void* b, void* c,
                       CUstream_st* stream);

 private:
  std::vector<Loop> loops_[2];
};

}  // namespace tilewright
