// Runs problems of one shape on the host by one kernel: the one place from which calls, plans, groups, sums
// and bands have kernels run, on as much stack as these need. Which kernel that is, and how many threads
// share the problems, it does not decide.
#pragma once

#include <cstddef>

#include "gemm/operand.hpp"
#include "kernel/kernel_call.hpp"

namespace tilewright {

// About what one problem of the batch takes on one thread, in round figures: good enough to cut work by.
double small_problem_s(const GemmProblem& problem);

// A kernel and the stack that its calls on problems of one shape take.
class BoundKernel {
 public:
  BoundKernel() = default;
  BoundKernel(const GemmProblem& problem, const GemmSmallCpuKernel& kernel);

  void run(KernelCall& call) const { call.run(*kernel_, stack_bytes_); }
  void run(KernelCall&& call) const { run(call); }
  const GemmSmallCpuKernel& kernel() const { return *kernel_; }
  bool takes_much_stack() const { return stack_bytes_ > usual_stack_bytes; }

 private:
  const GemmSmallCpuKernel* kernel_ = nullptr;
  std::size_t stack_bytes_ = 0;
};

// Problems first ... first + count - 1 of the operands, within one level, as a kernel takes them.
KernelCall kernel_call(const GemmProblem& problem, const OperandLayouts& layouts, const Operands& operands,
                       std::int64_t first, std::int64_t count);

// A batch, of one alpha and beta or of values per problem, and the kernel of its problems.
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
  // Those that lie within one level.
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
