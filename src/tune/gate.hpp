// The numerics gate, which each candidate passes before it is timed. Checks its kernel over batches of
// several counts, and its config on neighbouring padded shapes, for which wisdom uses it.
#pragma once

#include <string>
#include <vector>

#include "kernel/gemm_small_cpu/kernel.hpp"
#include "measure/check_small.hpp"
#include "tune/kernel_timer.hpp"

namespace tilewright {

class Gate {
 public:
  // Prepares data and reference results once for all candidates of `problem`.
  Gate(const GemmProblem& problem, Isa isa);

  // Returns the fault and its shape; "" if the config is right for all shapes where it is legal. `kernel` is
  // for the problem itself; `worst` is raised to the error nearest to its bound.
  std::string run(const GemmSmallCpuKernel& kernel, Accuracy* worst = nullptr) const;

  // The problem itself and the neighbours.
  std::vector<GemmProblem> shapes() const;

 private:
  struct Shape {
    GemmProblem problem;
    Space<GemmSmallCpuConfig> space;
    std::vector<SmallCheck> checks;  // of batches of each count
    PreparedCall call;
  };
  std::vector<Shape> shapes_;  // the problem itself first
};

}  // namespace tilewright
