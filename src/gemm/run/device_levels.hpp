// Strided batches of several levels in device memory: kernels and libraries take one level, so that one of
// them is what a launch computes, and there is a launch for every place in the others.
#pragma once

#include <memory>

#include "gemm/candidate.hpp"

namespace tilewright {

// What candidates are asked about for a problem of several levels.
class DeviceLevels {
 public:
  // The problem is valid and its levels are joined.
  DeviceLevels(const GemmProblem& problem, const GemmOptions& options);

  // The level of most problems alone, or the innermost one where alpha or beta comes as a value per problem.
  const GemmProblem& problem() const { return launched_; }
  // With the alignment that addresses have in every place.
  const GemmOptions& options() const { return options_; }
  // What runs the whole of it by a runner of problem().
  std::shared_ptr<const Runner> runner(std::shared_ptr<const Runner> launched) const;

 private:
  GemmProblem problem_, launched_;
  GemmOptions options_;
  std::array<BatchLevel, 2> others_;     // within first
  std::array<std::int64_t, 2> strides_;  // from one of their parts to the next, in values of alpha and beta
};

}  // namespace tilewright
