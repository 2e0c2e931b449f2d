// The fallback kernel of a problem: the portable one, bound in tens of nanoseconds without memory or code.
#pragma once

#include <array>

#include "kernel/gemm_small_cpu/portable.hpp"

namespace tilewright {

// The register blocks of portable kernels on this machine, as large as fit.
class ColdBlocks {
 public:
  ColdBlocks();
  // Returns blocks of nearly equal size: a partial block costs as much as a whole one.
  GemmSmallCpuConfig config(const GemmProblem& problem) const;

 private:
  static constexpr std::size_t sizes = gemm_small_cpu_limit + 1;
  // Tables for real and complex blocks, because divisions would dominate binding: rows of a block in vectors
  // by those of the matrix, and, by these, columns of a block by those of the matrix.
  struct Even {
    std::array<std::uint8_t, sizes> rows{};
    std::array<std::array<std::uint8_t, sizes>, portable_max_mr> columns{};
  };
  PortableTarget target_;
  std::array<Even, 2> even_;
};

// Serves strided, pointer or single problems with sizes >= 1; strides and counts are arguments.
class ColdKernel final : public GemmSmallCpuKernel {
 public:
  ColdKernel(const ColdBlocks& blocks, const GemmProblem& problem);

 private:
  PortableColumns plan_;
};

}  // namespace tilewright
