// The numerics gate: no candidate is timed before it has passed. Its kernel for the problem at hand is
// checked over batches between guards, and then the same config on neighbouring shapes with padded columns,
// because wisdom lends configs to neighbours and to other leading dimensions. It measures nothing but errors.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tune/kernel_check.hpp"

namespace tilewright {

class Gate {
 public:
  // Prepares data and reference results once for all candidates of `problem`.
  Gate(const GemmProblem& problem, Isa isa);

  // "" when the config is right everywhere it is legal, else where and what is wrong. `kernel` is its kernel
  // for the problem itself; `worst` as in KernelCheck::run.
  std::string run(const GemmSmallCpuKernel& kernel, Accuracy* worst = nullptr) const;

  // The problem itself and the neighbours.
  std::vector<GemmProblem> shapes() const;

 private:
  struct Neighbour {
    GemmProblem problem;
    Space<GemmSmallCpuConfig> space;
    std::unique_ptr<KernelCheck> check;
  };
  GemmProblem problem_;
  KernelCheck own_;
  std::vector<Neighbour> neighbours_;
};

}  // namespace tilewright
