// Runs plans: matches the values of alpha and beta with what the plan was made for, cuts the batch into one
// run of problems per thread, and calls the candidate's range runner. What runs, and with which config, the
// plan has decided.
#pragma once

#include "gemm/plan.hpp"

namespace tilewright {

// The whole batch, on as many threads as the plan, its work and OpenMP allow. Throws Error(invalid_argument)
// when alpha or beta is not of the class that the plan was made for.
void execute(const GemmPlan::Impl& plan, const Operands& operands);

// Its two halves, for calls that write nothing before all of it is checked: the first throws what execute()
// throws of alpha, beta and addresses, the second runs what the first let pass.
void check_call(const GemmPlan::Impl& plan, const Operands& operands);
void execute_checked(const GemmPlan::Impl& plan, const Operands& operands);

// Problems first ... first + count - 1 on the calling thread, for callers that share out work themselves;
// a run of interleaved problems begins at a block unless it ends in the same one. The values of alpha and
// beta must be of the plan's classes.
void execute_range(const GemmPlan::Impl& plan, const Operands& operands, std::int64_t first,
                   std::int64_t count);

// True when a call with these values is one kernel call on the calling thread and nothing else. General
// values of 0 take the longer way, because a kernel for general beta may read C.
template <class T>
bool is_one_kernel_call(const GemmPlan::Impl& plan, const T& alpha, const T& beta) {
  const auto fits = [](Scalar kind, const T& value) {
    return kind == Scalar::general ? value != T(0) : value == T(kind == Scalar::one);
  };
  return plan.sequential && plan.function != nullptr && fits(plan.problem.alpha, alpha) &&
         fits(plan.problem.beta, beta);
}

// The call itself; the operands hold one alpha and one beta.
inline void call_kernel(const GemmPlan::Impl& plan, const void* a, const void* b, void* c, const void* alpha,
                        const void* beta) {
  GemmSmallCpuArguments arguments = plan.arguments;
  arguments.a = a;
  arguments.b = b;
  arguments.c = c;
  arguments.alpha = alpha;
  arguments.beta = beta;
  arguments.count = plan.problem.batch_count;
  plan.function(&arguments);
}

// The range runners of the candidates.
void run_scale(const GemmPlan::Impl& plan, const Operands& operands, std::int64_t first, std::int64_t count);
void run_small_kernel(const GemmPlan::Impl& plan, const Operands& operands, std::int64_t first,
                      std::int64_t count);
void run_cblas(const GemmPlan::Impl& plan, const Operands& operands, std::int64_t first, std::int64_t count);
void run_reference(const GemmPlan::Impl& plan, const Operands& operands, std::int64_t first,
                   std::int64_t count);

}  // namespace tilewright
