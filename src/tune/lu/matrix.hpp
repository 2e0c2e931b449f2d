// The matrix that ways of factoring are tried on: restored before each, factored, and looked at afterwards.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/lu_problem.hpp"
#include "tilewright/context.hpp"

namespace tilewright {

class LuTrialMatrix {
 public:
  virtual ~LuTrialMatrix() = default;
  // Seconds of factoring alone, the matrix restored before. Throws what factoring throws.
  virtual double factor(const LuConfig& config) = 0;
  // What the last one left: columns without gaps, and pivots.
  virtual void read(std::vector<std::byte>& lu, std::vector<std::int64_t>& pivots) const = 0;
  // The matrix itself, columns without gaps.
  const std::vector<std::byte>& original() const { return original_; }

 protected:
  std::vector<std::byte> original_;
};

// Throws Error(unsupported) where there is no such GPU, Error(out_of_memory) where the matrix does not fit.
std::unique_ptr<LuTrialMatrix> lu_trial_matrix(Context& context, const LuProblem& problem, int gpu,
                                               int threads, std::uint64_t seed);

}  // namespace tilewright
