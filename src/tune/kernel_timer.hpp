// Direct calls and turns of the CPU's small kernels: a call without addresses, and the timer over the
// operands of a residency: one batch again and again when hot, a ring larger than any cache when cold; in a
// loop, or in isolated calls.
#pragma once

#include <array>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/problem.hpp"
#include "kernel/gemm_small_cpu/kernel.hpp"
#include "kernel/kernel_call.hpp"
#include "measure/buffers.hpp"
#include "measure/isolated.hpp"
#include "measure/operands.hpp"
#include "tune/operation.hpp"

namespace tilewright {

// The value that stands for a class of alpha or beta: a general one is neither 0 nor 1.
std::complex<double> representative(Scalar kind);

// Representative alpha and beta as values of the problem's type.
struct ScalarValues {
  explicit ScalarValues(const GemmProblem& problem);

  alignas(16) std::array<std::byte, 16> alpha{}, beta{};
};

class PreparedCall {
 public:
  explicit PreparedCall(const GemmProblem& problem);

  // Runs the first `count` problems of the batch on the calling thread. The operands' scalars win.
  void run(const GemmSmallCpuKernel& kernel, const Operands& operands, std::int64_t count) const {
    KernelCall call = call_;
    call.at(operands.a, operands.b, operands.c).counted(count);
    call.scaled(operands.alpha == nullptr ? scalars_.alpha.data() : operands.alpha,
                operands.beta == nullptr ? scalars_.beta.data() : operands.beta);
    call.run(kernel);
  }

 private:
  KernelCall call_;
  ScalarValues scalars_;
};

// The batch that tuning times for this problem: of the residency's size, in small pieces when cold; at most
// its own in isolated calls.
GemmProblem timed_problem(GemmProblem problem);

// Allocates and fills this problem's operands, `ring_bytes` of cold ones in all. This may take a second if
// the element type changes; a later OperandSet of the same arena costs nothing.
void prepare_operands(const GemmProblem& problem, Arena& arena, double ring_bytes = cold_bytes);

// The largest ring that can be filled within `most_s`, at most cold_bytes; all of them if the arena holds
// them already. 0 bytes if even a ring that exceeds the caches takes longer.
OperandRing affordable_ring(const GemmProblem& problem, const Arena& arena, double most_s);

class KernelTimer {
 public:
  // `problem` as timed_problem() gives it. The arena must outlive the timer.
  KernelTimer(const GemmProblem& problem, Arena& arena, double ring_bytes = cold_bytes);

  using Turn = TurnTimer::Turn;
  // About `turn_s` of this kernel, after a warm-up if data is hot.
  Turn time(const GemmSmallCpuKernel& kernel, double turn_s);

 private:
  PreparedCall call_;
  OperandSet set_;
  std::vector<Operands> batches_;
  TurnTimer timer_;
  std::optional<IsolatedCalls> isolated_;  // empty for calls back to back
};

}  // namespace tilewright
