// The ladder of techniques of large GEMM on a GPU: those that P2 explains and those of newer devices, step by
// step.
#pragma once

#include <string>
#include <vector>

#include "kernel/gemm_large/gemm_large.hpp"

namespace tilewright {

// A step: a technique of P2 or a newer one, switched on after the others, as a config with a name. Steps that
// the problem or the device does not allow are left out.
struct GemmLargeStep {
  std::string name;
  GemmLargeConfig config;
};
std::vector<GemmLargeStep> gemm_large_ladder(const GemmProblem& problem, const GemmLargeShape& shape,
                                             const GpuLimits& limits);

// The five rows of the chapter's table, as it names them: `unroll` loads ahead into registers, `128b` reads
// shared memory 16 bytes at a time, `prefsmem` reads it ahead, `db` has two stages, which its listings fill
// without holding loads in registers.
std::vector<GemmLargeStep> gemm_large_chapter(const GemmProblem& problem, const GemmLargeShape& shape,
                                              const GpuLimits& limits);

}  // namespace tilewright
