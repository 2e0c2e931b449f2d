// GemmPlan::run for the four element types: the fast path from operands to the kernel, on which hot loops
// live, and the full path for everything else.
#include "gemm/plan.hpp"

#include "core/dispatch.hpp"
#include "core/refuse.hpp"
#include "gemm/operand.hpp"

namespace tilewright {
namespace {

void check_operands(const GemmProblem& p, DType dtype, bool pointers, const void* a, const void* b,
                    const void* c) {
  if (p.dtype != dtype)
    refuse_argument("dtype", fmt::format("the plan is for {} but the operands are {}", to_string(p.dtype),
                                         to_string(dtype)));
  if (p.layout == Layout::variable)
    refuse_argument("layout", "the plan is for a variable batch, which gemm_variable runs");
  if ((p.layout == Layout::pointer) != pointers)
    refuse_argument("a", pointers ? fmt::format("the plan is for a {} batch, not for arrays of pointers",
                                                to_string(p.layout))
                                  : "the plan is for arrays of pointers");
  if (p.m == 0 || p.n == 0 || p.batch_count == 0) return;
  if (reads_ab(p) && a == nullptr) refuse_argument("a", "a is null");
  if (reads_ab(p) && b == nullptr) refuse_argument("b", "b is null");
  if (c == nullptr) refuse_argument("c", "c is null");
}

template <class T>
void run_plan(const GemmPlan::Impl& plan, bool pointers, const BatchScalar<T>& alpha, const void* a,
              const void* b, const BatchScalar<T>& beta, void* c, CUstream_st* stream) {
  const bool right_kind =
      plan.problem.dtype == dtype_of<T> && (plan.problem.layout == Layout::pointer) == pointers;
  if (right_kind && stream == nullptr && a != nullptr && b != nullptr && c != nullptr &&
      alpha.values == nullptr && beta.values == nullptr && is_one_kernel_call(plan, alpha.value, beta.value))
    return call_kernel(plan, a, b, c, &alpha.value, &beta.value);
  check_operands(plan.problem, dtype_of<T>, pointers, a, b, c);
  execute(plan, {a, b, c, alpha.values == nullptr ? &alpha.value : alpha.values,
                 beta.values == nullptr ? &beta.value : beta.values, alpha.values == nullptr ? 0 : 1,
                 beta.values == nullptr ? 0 : 1, stream});
}

}  // namespace

template <class T>
void GemmPlan::run(BatchScalar<Same<T>> alpha, const T* a, const T* b, BatchScalar<Same<T>> beta, T* c,
                   CUstream_st* stream) const {
  run_plan<T>(*impl_, false, alpha, a, b, beta, c, stream);
}

template <class T>
void GemmPlan::run(BatchScalar<Same<T>> alpha, const T* const* a, const T* const* b,
                   BatchScalar<Same<T>> beta, T* const* c, CUstream_st* stream) const {
  run_plan<T>(*impl_, true, alpha, a, b, beta, const_cast<T**>(c), stream);
}

#define TILEWRIGHT_INSTANTIATE(T)                                                                           \
  template void GemmPlan::run(BatchScalar<Same<T>>, const T*, const T*, BatchScalar<Same<T>>, T*,           \
                              CUstream_st*) const;                                                          \
  template void GemmPlan::run(BatchScalar<Same<T>>, const T* const*, const T* const*, BatchScalar<Same<T>>, \
                              T* const*, CUstream_st*) const;

TILEWRIGHT_FOR_TYPES(TILEWRIGHT_INSTANTIATE)
#undef TILEWRIGHT_INSTANTIATE

}  // namespace tilewright
