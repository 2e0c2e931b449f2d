// Is a product of any size right? The elements where some rows and columns of it cross, edges and ends among
// them, are computed on the host from operands whose values it knows, in a wider type and once for all
// implementations: thousands, so that their errors tell two implementations apart. It is affordable where a
// reference of every element is not, and no substitute for one on small problems.
#pragma once

#include <complex>
#include <functional>
#include <memory>

#include "measure/accuracy.hpp"
#include "measure/gpu/arena.hpp"

namespace tilewright {

class GpuSample {
 public:
  // The problem at the beginning of the arena's operands, which fill() has filled for its type: single,
  // strided, interleaved, or by pointer in any order to matrices gpu_pointer_distance() apart. Of a batch the
  // first and the last matrix are looked at.
  GpuSample(const GpuArena& arena, const GemmProblem& problem, std::complex<double> alpha,
            std::complex<double> beta);
  ~GpuSample();

  // Puts the sampled columns of C back (NaN where beta = 0 forbids reading them), runs once, compares and
  // leaves numbers behind. The errors are relative to the bound, which is 1. Throws what `run` throws.
  Accuracy check(const std::function<void()>& run) const;

  struct State;

 private:
  std::unique_ptr<State> state_;
};

}  // namespace tilewright
