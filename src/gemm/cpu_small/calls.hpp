// Calls on small problems in host memory, run without a plan of their own: what decides about the kernel is
// looked up, the rest comes with the call. What is not plainly right, or asks for anything unusual, is left
// to plans, which know all options and words for every fault.
#pragma once

#include <optional>

#include "gemm/context_impl.hpp"
#include "gemm/cpu_small/kernels.hpp"
#include "gemm/cpu_small/prepared.hpp"

namespace tilewright {

// The kernel that serves a problem of which is_small() holds, with one alpha and beta for all of it: its own,
// or the cold one, which is bound here.
class SmallKernel {
 public:
  SmallKernel(Context::Impl& context, const GemmProblem& problem, const GemmOptions& options);

  // Stays while this does and the thread asks for no other.
  const BoundKernel& get() const { return bound_; }

 private:
  std::optional<ColdKernel> cold_;
  BoundKernel bound_;
};

// Looks up the kernel of such a problem that is valid, and calls it.
void run_looked_up(Context::Impl& context, const GemmProblem& problem, KernelCall& call,
                   const GemmOptions& options);

// Runs a valid product with one long side band by band and returns true; false where more threads than one
// pay. The next call with the key finds the kernels of its bands. `product` is the call of one whole product.
bool run_long(Context::Impl& context, const LongKey& key, const GemmProblem& problem,
              const KernelCall& product, const GemmOptions& options);

// Runs a valid call of such a problem and returns true; false where it is not one.
bool run_small(Context::Impl& context, const GemmProblem& problem, const Operands& operands,
               const GemmOptions& options);

}  // namespace tilewright
