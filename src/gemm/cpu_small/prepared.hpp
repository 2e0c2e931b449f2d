// The kernels of small problems that prepare() made, for calls that have no plan of their own.
#pragma once

#include "gemm/context_impl.hpp"
#include "gemm/run/runner.hpp"

namespace tilewright {

// The problem as a call asks for its kernel: one of layout single leaves residency to its shape.
GemmProblem as_called(const GemmProblem& problem, const GemmOptions& options);

// Whether a kernel of the family serves calls of a valid problem with one alpha and beta.
bool is_small(const GemmProblem& problem);

// Whether these ask for nothing that a plan would have to be asked for.
bool are_usual(const GemmOptions& options);

// Has calls find the kernel that `runner` runs, if they would look for one.
void keep_prepared(Context::Impl& context, const GemmProblem& problem, const GemmOptions& options,
                   const Runner& runner);

}  // namespace tilewright
