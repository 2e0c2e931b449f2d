// The bound of a problem from measured ceilings: T >= max(bytes / B, flops / P). Problems expected in a cache
// have only the compute bound.
#pragma once

#include <algorithm>
#include <string>

#include "core/ceilings.hpp"
#include "tilewright/problem.hpp"

namespace tilewright {

struct Bound {
  double seconds = 0;
  double gflops = 0;
  std::string kind;    // "memory" or "compute"
  double ceiling = 0;  // GB/s or GFLOP/s
};

// `moved` is the traffic in bytes; `ceilings` are those of the CPU or the GPU that runs the problem.
template <class AnyCeilings>
Bound bound_of(const GemmProblem& problem, const AnyCeilings& ceilings, double moved) {
  const double compute = ceilings.compute_gflops(problem.dtype);
  const double memory = ceilings.memory_gbytes(problem.beta != Scalar::zero);
  const double compute_s = compute > 0 ? flops(problem) / (compute * 1e9) : 0;
  const bool in_memory = problem.residency != Residency::l1 && problem.residency != Residency::l2;
  const double memory_s = in_memory && memory > 0 ? moved / (memory * 1e9) : 0;
  Bound bound;
  bound.seconds = std::max(compute_s, memory_s);
  bound.kind = memory_s > compute_s ? "memory" : "compute";
  bound.ceiling = memory_s > compute_s ? memory : compute;
  if (bound.seconds > 0) bound.gflops = flops(problem) / bound.seconds * 1e-9;
  return bound;
}

inline Bound bound_of(const GemmProblem& problem, const Ceilings& ceilings) {
  return bound_of(problem, ceilings, bytes(problem));
}

}  // namespace tilewright
