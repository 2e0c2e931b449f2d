// The checks that all runners need, and the problems of no element that none of them sees.
#include "gemm/execute.hpp"

#include "core/dispatch.hpp"
#include "gemm/run/scale.hpp"

namespace tilewright {
namespace {

template <class T>
void check_class(const char* name, Scalar kind, const void* values, std::int64_t stride) {
  if (values == nullptr && kind == Scalar::general)
    throw Error(ErrorCode::invalid_argument, name, fmt::format("{} is null", name));
  if (kind == Scalar::general || values == nullptr) return;
  if (stride != 0)
    throw Error(ErrorCode::invalid_argument, name,
                fmt::format("{} holds a value per problem, but the plan was made for {} = {}", name, name,
                            to_string(kind)));
  if (const T value = *static_cast<const T*>(values); value != T(kind == Scalar::one))
    throw Error(ErrorCode::invalid_argument, name,
                fmt::format("{} is not {}, which the plan was made for", name, to_string(kind)));
}

}  // namespace

void check_call(const GemmPlan::Impl& plan, const Operands& o) {
  const GemmProblem& p = plan.problem;
  dispatch(p.dtype, [&]<class T>() {
    check_class<T>("alpha", p.alpha, o.alpha, o.alpha_stride);
    check_class<T>("beta", p.beta, o.beta, o.beta_stride);
  });
  if (has_elements_of_c(p)) plan.runner->check(o);
}

void execute(const GemmPlan::Impl& plan, const Operands& o) {
  check_call(plan, o);
  execute_checked(plan, o);
}

void execute_checked(const GemmPlan::Impl& plan, const Operands& o) {
  if (has_elements_of_c(plan.problem)) plan.runner->run(o);
}

}  // namespace tilewright
