// The ladder of techniques of large GEMM on a GPU: what P2 explains and what devices have had since, step by
// step.
#pragma once

#include <string>
#include <vector>

#include "kernel/gemm_large/gemm_large.hpp"

namespace tilewright {

// The techniques of P2 and today's switched on one after the other, as configs with a name each; those that
// the problem or the device does not allow are left out.
struct GemmLargeStep {
  std::string name;
  GemmLargeConfig config;
};
std::vector<GemmLargeStep> gemm_large_ladder(const GemmProblem& problem, const GemmLargeShape& shape,
                                             const GpuLimits& limits);

}  // namespace tilewright
