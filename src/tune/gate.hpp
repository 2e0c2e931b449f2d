// The numerics gate: no candidate is timed before it has passed. Its kernel for the problem at hand is
// checked over batches of several counts, one and odd ones among them, and then the same config on
// neighbouring shapes with padded columns, because wisdom lends configs to neighbours and to other leading
// dimensions. It measures nothing but errors.
#pragma once

#include <string>
#include <vector>

#include "kernel/gemm_small_cpu/kernel.hpp"
#include "measure/check_small.hpp"
#include "tune/prepared_call.hpp"

namespace tilewright {

class Gate {
 public:
  // Prepares data and reference results once for all candidates of `problem`.
  Gate(const GemmProblem& problem, Isa isa);

  // "" when the config is right everywhere it is legal, else where and what is wrong. `kernel` is its kernel
  // for the problem itself; `worst` becomes the error nearest to its bound, of those it had and those seen.
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
