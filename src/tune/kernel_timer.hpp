// Times kernels of one problem over the operands of its residency: the same batch again and again when hot,
// the next batches of a ring larger than any cache when cold. One turn of one kernel at a time; which kernel
// takes its turn when, and what follows from the times, is up to the caller.
#pragma once

#include <cstdint>
#include <vector>

#include "core/problem.hpp"
#include "kernel/gemm_small_cpu/kernel.hpp"
#include "measure/buffers.hpp"
#include "measure/operands.hpp"
#include "tune/operation.hpp"
#include "tune/prepared_call.hpp"
#include "tune/turn_timer.hpp"

namespace tilewright {

// The batch that tuning times for this problem: what the residency asks for, in small pieces when cold.
GemmProblem timed_problem(GemmProblem problem);

// Makes room for this problem's operands and fills it, which may take a second where the element type
// changes; what follows in the same arena then costs no more. `ring_bytes` are of cold operands in all.
void prepare_operands(const GemmProblem& problem, Arena& arena, double ring_bytes = cold_bytes);

// The largest ring that is filled within `most_s`: all of cold_bytes where that is time enough or the arena
// holds them already, less where it is not, but never so little that caches could hold a part of it.
OperandRing affordable_ring(const GemmProblem& problem, const Arena& arena, double most_s);

class KernelTimer {
 public:
  // `problem` as timed_problem() gives it. The arena must outlive the timer.
  KernelTimer(const GemmProblem& problem, Arena& arena, double ring_bytes = cold_bytes);

  using Turn = TurnTimer::Turn;
  // About `turn_s` of this kernel, after a warm-up where data is hot.
  Turn time(const GemmSmallCpuKernel& kernel, double turn_s);

 private:
  PreparedCall call_;
  OperandSet set_;
  std::vector<Operands> batches_;
  TurnTimer timer_;
};

}  // namespace tilewright
