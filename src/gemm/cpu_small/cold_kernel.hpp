// The kernel of a problem that has none of its own: the portable one, which is compiled already. It costs
// some tens of nanoseconds to bind, takes no memory and makes no code.
#pragma once

#include <array>

#include "kernel/gemm_small_cpu/portable.hpp"

namespace tilewright {

// The register blocks that the portable kernels take on this machine, as large as fit.
class ColdBlocks {
 public:
  ColdBlocks();
  // Blocks of equal size, or nearly so: what is left over of a whole one costs as much as a whole one.
  GemmSmallCpuConfig config(const GemmProblem& problem) const;

 private:
  static constexpr std::size_t sizes = gemm_small_cpu_limit + 1;
  // Of real and complex blocks, because divisions take longer than all else that binding does: vectors of
  // rows of a block by those of the matrix, and by these the columns of a block by those of the matrix.
  struct Even {
    std::array<std::uint8_t, sizes> rows{};
    std::array<std::array<std::uint8_t, sizes>, portable_max_mr> columns{};
  };
  PortableTarget target_;
  std::array<Even, 2> even_;
};

// Of a strided, pointer or single problem with sizes from 1 on; strides and counts come with the arguments.
class ColdKernel final : public GemmSmallCpuKernel {
 public:
  ColdKernel(const ColdBlocks& blocks, const GemmProblem& problem);

 private:
  PortableColumns plan_;
};

}  // namespace tilewright
