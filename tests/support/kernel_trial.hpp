// One problem prepared for many kernels: its batches in guarded memory, on which kernels of any config are
// made, run and checked, one after the other. The kernel tests and the kernel fuzzer are loops over this.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "kernel/gemm_small_cpu/kernel.hpp"
#include "support/make_case.hpp"

namespace tilewright::testing {

class KernelTrial {
 public:
  virtual ~KernelTrial() = default;
  virtual const GemmProblem& problem() const = 0;
  // Makes the kernel and runs it on every batch; returns "" if all results are right, otherwise the first
  // error.
  virtual std::string run(const GemmSmallCpuConfig& config) = 0;
};

// The batches have 1, 2, 3 and 17 problems (interleaved: the choices' count) with guard pages at either end.
std::unique_ptr<KernelTrial> make_kernel_trial(const Choices& choices);

// Returns at most `limit` configs of the space: the default one, then others drawn evenly.
std::vector<GemmSmallCpuConfig> sample_configs(const GemmProblem& problem, Isa isa, std::size_t limit,
                                               std::uint64_t seed);

// Kernels are never called with a zero among general alphas and betas: the caller handles those.
inline constexpr std::array kernel_alphas{ScalarChoice::one, ScalarChoice::general,
                                          ScalarChoice::per_problem};
inline constexpr std::array kernel_betas{ScalarChoice::zero, ScalarChoice::one, ScalarChoice::general,
                                         ScalarChoice::per_problem};

}  // namespace tilewright::testing
