// A kernel with everything it is called with except addresses: strides in bytes and scalars, from the
// problem. Only the tuner calls kernels this directly; everybody else goes through a plan.
#pragma once

#include <array>
#include <complex>
#include <cstddef>

#include "core/problem.hpp"
#include "kernel/kernel_call.hpp"

namespace tilewright {

// The values that stand for a class of alpha or beta: general ones are neither 0 nor 1.
std::complex<double> representative(Scalar kind);

class PreparedCall {
 public:
  explicit PreparedCall(const GemmProblem& problem);

  // Runs the first `count` problems of the batch on the calling thread, with the operands' own scalars where
  // they have some.
  void run(const GemmSmallCpuKernel& kernel, const Operands& operands, std::int64_t count) const {
    KernelCall call = call_;
    call.at(operands.a, operands.b, operands.c).counted(count);
    call.scaled(operands.alpha == nullptr ? alpha_.data() : operands.alpha,
                operands.beta == nullptr ? beta_.data() : operands.beta);
    call.run(kernel);
  }

 private:
  KernelCall call_;
  alignas(16) std::array<std::byte, 16> alpha_{};
  alignas(16) std::array<std::byte, 16> beta_{};
};

}  // namespace tilewright
