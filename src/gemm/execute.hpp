// Runs plans: matches the values of alpha and beta with what the plan was made for and hands the operands to
// its runner. What runs, and with which config, the plan has decided.
#pragma once

#include "gemm/plan.hpp"

namespace tilewright {

// The whole batch. Throws Error(invalid_argument) when alpha or beta is not of the class that the plan was
// made for, and what the runner's check() throws.
void execute(const GemmPlan::Impl& plan, const Operands& operands);

// Its two halves, for calls that write nothing before all of it is checked: the first throws what execute()
// throws of alpha, beta and addresses, the second runs what the first let pass.
void check_call(const GemmPlan::Impl& plan, const Operands& operands);
void execute_checked(const GemmPlan::Impl& plan, const Operands& operands);

// True when a call with these values is one kernel call on the calling thread and nothing else. General
// values of 0 take the longer way, because a kernel for general beta may read C.
template <class T>
bool is_one_kernel_call(const GemmPlan::Impl& plan, const T& alpha, const T& beta) {
  const auto fits = [](Scalar kind, const T& value) {
    return kind == Scalar::general ? value != T(0) : value == T(kind == Scalar::one);
  };
  return plan.runner->direct_call().kernel != nullptr && fits(plan.problem.alpha, alpha) &&
         fits(plan.problem.beta, beta);
}

// The call itself; the operands hold one alpha and one beta.
inline void call_kernel(const GemmPlan::Impl& plan, const void* a, const void* b, void* c, const void* alpha,
                        const void* beta) {
  const DirectCall& direct = plan.runner->direct_call();
  KernelCall call = direct.call;
  call.at(a, b, c).scaled(alpha, beta).run(*direct.kernel);
}

}  // namespace tilewright
