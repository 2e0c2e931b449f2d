// The multiply-add loops of one GPU, with which compute-bound kernels are compared.
#pragma once

#include <string>
#include <vector>

#include "device/gpu/gpu.hpp"
#include "kernel/jit/stencil.hpp"

namespace tilewright {

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
