// Measures the memory bandwidth of one GPU for the matrices of a pointer batch, of one size, at their places.
#pragma once

#include <vector>

#include "device/gpu/gpu.hpp"
#include "kernel/jit/stencil.hpp"

namespace tilewright {

class GpuGather {
 public:
  // Bytes of one matrix of each operand; their slots must hold whole sectors of 32 bytes.
  struct Sizes {
    int a = 0, b = 0, c = 0;
    bool reads_c = false;
  };
  GpuGather(const Gpu& gpu, const StencilCompiler& compiler, const Sizes& sizes);

  // The number of ways to distribute the problems; the best of them is the ceiling.
  std::size_t ways() const { return 2; }
  // Queues one pass over the batch and writes into every sector of each C. The arrays hold device addresses
  // of matrices that begin at a sector.
  void launch(std::size_t way, const void* a, const void* b, const void* c, std::int64_t count,
              CUstream_st* stream) const;

 private:
  GpuGather(const Gpu& gpu, const JitBinary& binary, const Sizes& sizes);

  GpuModule module_;
  GpuFunction function_;
  int most_pieces_ = 0;
  int multiprocessors_ = 0;
};

}  // namespace tilewright
