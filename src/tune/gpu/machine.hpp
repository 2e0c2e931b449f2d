// The GPU that problems are tuned on: device, compiler and the memory that operands lie in, opened once for
// all problems of a session. It knows no problem.
#pragma once

#include <string>
#include <vector>

#include "kernel/jit/stencil.hpp"
#include "measure/gpu/arena.hpp"
#include "measure/gpu/other_users.hpp"

namespace tilewright {

class TuneGpu {
 public:
  // Throws Error(unsupported) where there is no such device or it is older than the kernels, Error(io) where
  // their sources are missing.
  TuneGpu(int device, std::size_t operand_bytes);

  const Gpu& gpu() const { return gpu_; }
  const StencilCompiler& compiler() const { return compiler_; }
  GpuArena& arena() { return arena_; }
  std::vector<std::string> other_users() const { return other_users_.notes(); }

 private:
  Gpu gpu_;
  StencilCompiler compiler_;
  OtherUsersNotes other_users_;  // looks before anything of ours runs
  GpuArena arena_;
};

}  // namespace tilewright
