// The ways of one factorization that tuning tries: each candidate with the panels that suit it, in host
// memory or in that of a GPU. The first is what runs where nothing is known.
#pragma once

#include <memory>

#include "core/lu_problem.hpp"
#include "tilewright/context.hpp"
#include "tune/axis_rules.hpp"
#include "tune/config_pool.hpp"

namespace tilewright {

// How turns and stages are spent, all of them of whole factorizations.
const SearchPace& lu_pace();

struct LuPoolRequest {
  Context& context;
  LuProblem problem;
  AxisRules rules;
  int gpu = 0;      // that a matrix in device memory lies on
  int threads = 0;  // as LuOptions::threads
  std::uint64_t seed = 1;
};

// Throws Error(invalid_argument) naming an axis or value that does not exist, Error(unsupported) where
// nothing factors the problem. The context must outlive the pool, and gives the models that candidates go by.
std::unique_ptr<ConfigPool> lu_pool(const LuPoolRequest& request);

}  // namespace tilewright
