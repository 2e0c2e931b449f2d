// One call on a batch of one shape, from any door: checked once, and run by a kernel or a plan.
#pragma once

#include <optional>

#include "core/product/faults.hpp"
#include "gemm/context_impl.hpp"

namespace tilewright {

// The class of a factor with a value per problem: host kernels serve any value, GPUs read it from an array.
constexpr Scalar class_per_problem(Location location) {
  return location == Location::device ? Scalar::per_problem : Scalar::general;
}

struct ProductCall {
  GemmProblem problem;  // with the classes of alpha and beta; not checked
  Operands operands;
  const ArgumentNames& names = argument_names;
  std::optional<Fault> fault{};  // that only the door sees
};

// Faults become codes if `info` requests them, else an Error(invalid_argument) that names the caller's
// argument, before anything is written. Returns when C is complete, on a GPU queued. Consumes `call`.
void run_call(Context::Impl& context, ProductCall& call, const GemmOptions& options, const BatchInfo& info);

}  // namespace tilewright
