// The configs of one problem on a GPU made ready to be checked and timed: the batch that is timed, its
// family, and where problems are large the vendor's library beside it. What tuning searches and what is
// measured again are set up alike.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "tune/gpu/config_kernels.hpp"
#include "tune/gpu/family.hpp"

namespace tilewright {

class GpuPool {
 public:
  // The problem must lie on the arena's GPU; the arena, which grows where the operands need it, and the
  // compiler must outlive the pool. Throws Error(unsupported) for what has no space or does not fit the
  // device's memory, Error(invalid_argument) naming an axis or value that does not exist, or when no config
  // remains.
  GpuPool(const GemmProblem& problem, const StencilCompiler& compiler, const GpuChoiceRules& rules,
          GpuArena& arena);

  const GemmProblem& timed() const { return timed_; }  // with as many matrices as are timed together
  ConfigPool& candidates() { return *candidates_; }
  // The place of rules.incumbent; empty where there was none or it is not legal.
  std::optional<std::size_t> incumbent() const { return family_->incumbent; }
  // Why the vendor's library takes no part; "" where it does or has no say.
  const std::string& vendor_absence() const { return vendor_absence_; }

 private:
  GemmProblem timed_;
  std::unique_ptr<GpuFamily> family_;
  std::string vendor_absence_;
  std::unique_ptr<GpuConfigKernels> candidates_;
};

}  // namespace tilewright
