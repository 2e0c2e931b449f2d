// Which configs a sweep of large GEMM measures: drawn from the space by a seed, an equal share from each
// product and kind of load, every value of every axis among them, and the rules of thumb. It compiles and
// measures nothing.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "kernel/gemm_large/gemm_large.hpp"

namespace tilewright::bench {

// Values of each axis among configs, as JSON text.
using AxisValues = std::map<std::string, std::set<std::string>>;
AxisValues axis_values(const std::vector<GemmLargeConfig>& configs);
// Those of `all` that `some` lacks, as "axis=value, ...".
std::string missing_values(const AxisValues& all, const AxisValues& some);

struct SweepChoice {
  std::vector<GemmLargeConfig> configs;  // the ones that have to be there first, then the strata in turn
  AxisValues values;                     // that the space was seen to have
};
// `count` configs or as many as the draws gave. The same arguments give the same list.
SweepChoice choose_sweep(const GemmProblem& problem, const GemmLargeShape& shape,
                         const GemmLargeDevice& limits, std::size_t count, unsigned seed);

}  // namespace tilewright::bench
