// Factorizations as operations that are tuned: each candidate with the panels that suit it, in host memory or
// in that of a GPU. The first is what runs where nothing is known.
#pragma once

#include "core/lu_problem.hpp"
#include "tilewright/context.hpp"
#include "tune/axis_rules.hpp"
#include "tune/operation.hpp"

namespace tilewright {

struct LuTuning {
  AxisRules rules{};
  int gpu = 0;      // that matrices in device memory lie on
  int threads = 0;  // as LuOptions::threads
  std::uint64_t seed = 1;
};

// Throws Error(invalid_argument) naming an axis or value that does not exist, Error(unsupported) for a
// problem that calls look for no record of. The context must outlive the operation, and gives the models that
// candidates go by.
std::unique_ptr<Operation> lu_operation(Context& context, const LuProblem& problem, const LuTuning& how = {});

}  // namespace tilewright
