// Loops that measure the ceilings of one GPU: streaming (reads A and B, reads C or not, writes C, in any
// proportion) for memory-bound kernels, multiply-adds for compute-bound ones.
#pragma once

#include <algorithm>
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

  // Queues one pass of the loop; returns the bytes that it moves, slightly fewer than the mix by rounding.
  static double launch(const Loop& loop, const GpuStreamMix& mix, const void* a, const void* b, void* c,
                       CUstream_st* stream);

 private:
  std::vector<Loop> loops_[2];
};

class GpuMultiplies {
 public:
  GpuMultiplies(const Gpu& gpu, const StencilCompiler& compiler);

  struct Loop {
    std::string name;
    bool is_double = false;
    GpuModule module;
    GpuFunction function;
    GpuLaunch launch;
    double flops = 0;  // of one launch
  };
  const std::vector<Loop>& loops() const { return loops_; }

  // `scratch` is a device address of 8 bytes that stay unchanged.
  static void launch(const Loop& loop, void* scratch, CUstream_st* stream);

 private:
  std::vector<Loop> loops_;
};

}  // namespace tilewright
