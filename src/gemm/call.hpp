// One call on a batch of one shape, whichever door it came through: what it multiplies, checked here once,
// and run by the kernel or the plan that is found for it.
#pragma once

#include <optional>

#include "core/product/faults.hpp"
#include "gemm/context_impl.hpp"

namespace tilewright {

struct ProductCall {
  GemmProblem problem;  // with the classes of alpha and beta; nothing is checked yet
  Operands operands;
  const ArgumentNames& names = argument_names;
  std::optional<Fault> fault{};  // of what only the door sees
};

// Faults become codes where `info` wants them, else an Error(invalid_argument) that names the argument as the
// caller knows it, before anything is written. Returns when C is complete, or queued where it lies on a GPU.
// `call` is used up.
void run_call(Context::Impl& context, ProductCall& call, const GemmOptions& options, const BatchInfo& info);

}  // namespace tilewright
