// Factorizations as operations that are tuned: each candidate with suitable panels, in host or GPU memory.
// The first config is the one that runs without wisdom.
#pragma once

#include "core/problem.hpp"
#include "tilewright/context.hpp"
#include "tune/axis_rules.hpp"
#include "tune/operation.hpp"

namespace tilewright {

struct LuTuning {
  AxisRules rules{};
  int gpu = 0;      // of matrices in device memory
  int threads = 0;  // as LuOptions::threads
  std::uint64_t seed = 1;
};

// Throws Error(invalid_argument) naming an axis or value that does not exist, Error(unsupported) for a
// problem too small for calls to consult records. The context, whose models are used, must outlive it.
std::unique_ptr<Operation> lu_operation(Context& context, const LuProblem& problem, const LuTuning& how = {});

}  // namespace tilewright
