// Runs problems of one shape on the host by one kernel: the only place from which calls, plans, groups, sums
// and bands run kernels, with the stack that these need. It chooses neither kernels nor threads.
#pragma once

#include <cstddef>

#include "gemm/operand.hpp"
#include "kernel/kernel_call.hpp"

namespace tilewright {

// Estimates the seconds of one problem on one thread in round figures, good enough to cut work by.
inline double small_problem_s(bool complex, double products) {
  constexpr double problem_s = 10e-9, multiply_add_s = 40e-12;
  return problem_s + multiply_add_s * (complex ? 4 : 1) * products;
}
inline double small_problem_s(const GemmProblem& p) {
  return small_problem_s(is_complex(p.dtype), double(p.m * p.n * p.k));
}

// A kernel and the stack size of its calls on problems of one shape.
class BoundKernel {
 public:
  BoundKernel() = default;
  BoundKernel(const GemmProblem& problem, const GemmSmallCpuKernel& kernel);

  void run(KernelCall& call) const { call.run(*kernel_, stack_bytes_); }
  void run(KernelCall&& call) const { run(call); }
  const GemmSmallCpuKernel& kernel() const { return *kernel_; }
  bool takes_much_stack() const { return stack_bytes_ > small_stack_bytes; }

 private:
  const GemmSmallCpuKernel* kernel_ = nullptr;
  std::size_t stack_bytes_ = 0;
};

// Returns the call for problems first ... first + count - 1, within one level.
KernelCall kernel_call(const GemmProblem& problem, const OperandLayouts& layouts, const Operands& operands,
                       std::int64_t first, std::int64_t count);

// A batch, with one alpha and beta or values per problem, and its kernel.
class SmallBatch {
 public:
  // The problem outlives this.
  SmallBatch(const GemmProblem& problem, const BoundKernel& kernel)
      : problem_(problem), layouts_(layouts_of(problem)), kernel_(kernel) {}

  // Runs problems first ... first + count - 1 on the calling thread.
  void run(const Operands& operands, std::int64_t first, std::int64_t count) const {
    for_each_run(problem_, first, count,
                 [&](std::int64_t at, std::int64_t part) { kernel_.run(call(operands, at, part)); });
  }
  // Returns the call for problems within one level.
  KernelCall call(const Operands& operands, std::int64_t first, std::int64_t count) const {
    return kernel_call(problem_, layouts_, operands, first, count);
  }
  const BoundKernel& kernel() const { return kernel_; }

 private:
  const GemmProblem& problem_;
  OperandLayouts layouts_;
  BoundKernel kernel_;
};

}  // namespace tilewright
