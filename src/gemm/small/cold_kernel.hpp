// The kernel of a problem that has none of its own: the portable one, which is compiled already. It costs
// some tens of nanoseconds to bind, takes no memory and makes no code.
#pragma once

#include "kernel/gemm_small_cpu/portable.hpp"

namespace tilewright {

// The largest register blocks that the portable kernels have on this machine.
class ColdBlocks {
 public:
  ColdBlocks();
  // Blocks of equal size, or nearly so: what is left over of a whole one costs as much as a whole one.
  GemmSmallCpuConfig config(const GemmProblem& problem) const;

 private:
  struct Most {
    int rows = 1;                       // vectors
    int columns[portable_max_mr] = {};  // of a block with so many vectors of rows and one
  };
  PortableTarget target_;
  Most most_[2];  // of real and complex blocks
};

// Of a strided, pointer or single problem with sizes from 1 on; strides and counts come with the arguments.
class ColdKernel final : public GemmSmallCpuKernel {
 public:
  ColdKernel(const ColdBlocks& blocks, const GemmProblem& problem);

 private:
  PortableColumns plan_;
};

}  // namespace tilewright
