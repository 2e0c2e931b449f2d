// Is a kernel of a GPU right, every element of a small problem? It is held against plain loops on the host
// in a wider type, between guards, with NaN around everything that must not be read, NaN in a C that beta = 0
// must not read, and marks in the gaps of C that must stay. What runs is the caller's.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "core/problem.hpp"
#include "device/gpu/gpu.hpp"

namespace tilewright {

struct GpuCheckResult {
  double error = 0;   // largest element error over its bound; above 1 is wrong
  std::string fault;  // "" = none
};

class GpuCheck {
 public:
  // Prepares data and what must come out once for all kernels. The problem is single, strided, interleaved or
  // by pointer; all addresses, of a pointer batch those of its first matrices, are `shift` elements off a
  // multiple of 256 bytes.
  GpuCheck(const Gpu& gpu, const GemmProblem& problem, int shift = 0, unsigned seed = 12345);
  ~GpuCheck();

  const GemmProblem& problem() const;
  // `run` queues the problem on the default stream, with operands whose scalars lie on the host.
  GpuCheckResult check(const std::function<void(const Operands&)>& run) const;

  struct State;

 private:
  std::unique_ptr<const State> state_;
};

}  // namespace tilewright
