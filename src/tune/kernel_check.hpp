// Is a candidate right? Before it is timed it runs batches of several counts, one and odd ones among them,
// over NaN where beta = 0 forbids reading C, between guard bytes that are NaN too and with NaN in the gaps of
// its inputs, and every element is compared with the reference.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/problem.hpp"
#include "kernel/gemm_small_cpu/kernel.hpp"
#include "measure/accuracy.hpp"

namespace tilewright {

class KernelCheck {
 public:
  // Prepares data and reference results once for all candidates of a problem.
  explicit KernelCheck(const GemmProblem& problem);
  ~KernelCheck();

  // "" when the kernel is right, else what is wrong with it. `worst` becomes the error that is nearest to its
  // bound, of those it had and those that are seen.
  std::string run(const GemmSmallCpuKernel& kernel, Accuracy* worst = nullptr) const;

 private:
  struct Trial;
  std::vector<std::unique_ptr<Trial>> trials_;
};

}  // namespace tilewright
