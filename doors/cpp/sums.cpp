// gemm_batch_reduce and gemm_stack for the four element types: views become problems and lists, which gemm/
// checks and runs.

#include "core/dispatch.hpp"
#include "core/input/checked.hpp"
#include "core/refuse.hpp"
#include "gemm/cpu_small/groups.hpp"
#include "gemm/device/stacks.hpp"
#include "gemm/plan.hpp"
#include "gemm/sums/calls.hpp"

namespace tilewright {
namespace {

template <class T, Location L, class Batch>
GemmProblem reduce_problem(Op op_a, Op op_b, const T& alpha, const Batch& a, const Batch& b, const T& beta,
                           const MatrixView<T, L>& c) {
  GemmProblem p;
  p.dtype = dtype_of<T>;
  p.location = L;
  p.op_a = op_a, p.op_b = op_b;
  p.m = c.rows, p.n = c.cols;
  p.k = op_a == Op::none ? a.cols : a.rows;
  p.lda = a.ld, p.ldb = b.ld, p.ldc = c.ld;
  p.layout = Layout::pointer;
  if constexpr (requires { a.stride; }) {
    p.layout = Layout::strided;
    p.stride_a = a.stride, p.stride_b = b.stride, p.stride_c = saturating_product(c.ld, c.cols);
  }
  p.sums = Accumulate::batch_reduce;
  p.batch_count = a.count;
  p.alpha = scalar_class(alpha);
  p.beta = scalar_class(beta);
  return p;
}

template <class T, Location L, class Batch>
void reduce(Context& context, Op op_a, Op op_b, const T& alpha, const Batch& a, const Batch& b, const T& beta,
            const MatrixView<T, L>& c, const GemmOptions& options) {
  refuse_negative("count", a.count);
  if (a.count != b.count)
    throw Error(ErrorCode::invalid_argument, "count",
                fmt::format("the counts of a and b differ: {}, {}", a.count, b.count));
  if constexpr (requires { a.stride; }) {
    const auto one_level = [](const char* name, const Batch& x) {
      if (x.outer_count != 1 || x.outermost_count != 1)
        throw Error(
            ErrorCode::invalid_argument, "outer_count",
            fmt::format(
                "{} has outer_count = {} and outermost_count = {}, but sums of products have one level", name,
                x.outer_count, x.outermost_count));
    };
    one_level("a", a), one_level("b", b);
  }
  const GemmProblem p = reduce_problem(op_a, op_b, alpha, a, b, beta, c);
  check_reduce_shapes(p, {a.rows, a.cols}, {b.rows, b.cols});
  Operands o;
  o.a = a.data, o.b = b.data, o.c = c.data;
  o.alpha = &alpha, o.beta = &beta;
  run_batch_reduce(Access::impl(context), p, o, options, argument_names_of_views);
}

template <class T, Location L>
SumList list_of(const GemmStack<T, L>& stack, const T& beta) {
  SumList list;
  GemmProblem& p = list.problem;
  p.dtype = dtype_of<T>;
  p.op_a = stack.op_a(), p.op_b = stack.op_b();
  p.m = stack.m(), p.n = stack.n(), p.k = stack.k();
  p.lda = stack.lda(), p.ldb = stack.ldb(), p.ldc = stack.ldc();
  p.layout = Layout::pointer;
  p.sums = Accumulate::stack;
  p.batch_count = stack.count();
  p.alpha = scalar_class(stack.alpha());
  p.beta = scalar_class(beta);
  list.alpha = &stack.alpha();
  list.a = stack.a(), list.b = stack.b(), list.c = stack.c();
  list.offsets = stack.offsets();
  // The same for all types: three addresses.
  static_assert(sizeof(StackPointers<T>) == sizeof(StackPointers<void>));
  list.pointers = reinterpret_cast<const StackPointers<void>*>(stack.pointers());
  return list;
}

template <class T, Location L>
std::vector<SumList> lists_of(std::span<const GemmStack<T, L>> stacks, const T& beta) {
  std::vector<SumList> lists;
  lists.reserve(stacks.size());
  for (const GemmStack<T, L>& stack : stacks) lists.push_back(list_of(stack, beta));
  return lists;
}

}  // namespace

template <class T>
void gemm_batch_reduce(Context& context, Op op_a, Op op_b, Same<T> alpha, Same<StridedBatch<const T>> a,
                       Same<StridedBatch<const T>> b, Same<T> beta, MatrixView<T> c,
                       const GemmOptions& options) {
  reduce(context, op_a, op_b, alpha, a, b, beta, c, options);
}

template <class T>
void gemm_batch_reduce(Context& context, Op op_a, Op op_b, Same<T> alpha, Same<PointerBatch<const T>> a,
                       Same<PointerBatch<const T>> b, Same<T> beta, MatrixView<T> c,
                       const GemmOptions& options) {
  reduce(context, op_a, op_b, alpha, a, b, beta, c, options);
}

template <class T>
void gemm_stack(Context& context, std::span<const GemmStack<T>> stacks, Same<T> beta,
                const GemmOptions& options) {
  run_stacks(Access::impl(context), lists_of(stacks, beta), &beta, options);
}

template <class T, Location L>
void gemm_batch_reduce(Context& context, Op op_a, Op op_b, Same<T> alpha, Same<StridedBatch<const T, L>> a,
                       Same<StridedBatch<const T, L>> b, Same<T> beta, MatrixView<T, L> c,
                       const GemmOptions& options) {
  reduce(context, op_a, op_b, alpha, a, b, beta, c, options);
}

template <class T, Location L>
void gemm_batch_reduce(Context& context, Op op_a, Op op_b, Same<T> alpha, Same<PointerBatch<const T, L>> a,
                       Same<PointerBatch<const T, L>> b, Same<T> beta, MatrixView<T, L> c,
                       const GemmOptions& options) {
  reduce(context, op_a, op_b, alpha, a, b, beta, c, options);
}

template <class T, Location L>
void gemm_stack(Context& context, std::span<const GemmStack<T, L>> stacks, Same<T> beta,
                const GemmOptions& options) {
  if constexpr (L == Location::host)
    run_stacks(Access::impl(context), lists_of(stacks, beta), &beta, options);
  else
    run_device_stacks(Access::impl(context), lists_of(stacks, beta), &beta, options);
}

template <class T>
StackPlan plan_stacks(Context& context, std::span<const GemmStack<T, Location::device>> stacks,
                      Location lists, const GemmOptions& options) {
  // The plan learns beta only when it runs.
  return Access::make<StackPlan>(
      make_stack_plan(Access::impl(context), lists_of(stacks, T(2)), lists, options));
}

template <class T>
void StackPlan::run(Same<T> beta, CUstream_st* stream) const {
  impl_->run(dtype_of<T>, &beta, stream);
}

std::string StackPlan::explain() const { return impl_->explanation; }

#define TILEWRIGHT_INSTANTIATE_AT(T, L)                                                            \
  template void gemm_batch_reduce<T, L>(Context&, Op, Op, Same<T>, Same<StridedBatch<const T, L>>, \
                                        Same<StridedBatch<const T, L>>, Same<T>, MatrixView<T, L>, \
                                        const GemmOptions&);                                       \
  template void gemm_batch_reduce<T, L>(Context&, Op, Op, Same<T>, Same<PointerBatch<const T, L>>, \
                                        Same<PointerBatch<const T, L>>, Same<T>, MatrixView<T, L>, \
                                        const GemmOptions&);                                       \
  template void gemm_stack<T, L>(Context&, std::span<const GemmStack<T, L>>, Same<T>, const GemmOptions&);
#define TILEWRIGHT_INSTANTIATE(T)                                                                           \
  template void gemm_batch_reduce(Context&, Op, Op, Same<T>, Same<StridedBatch<const T>>,                   \
                                  Same<StridedBatch<const T>>, Same<T>, MatrixView<T>, const GemmOptions&); \
  template void gemm_batch_reduce(Context&, Op, Op, Same<T>, Same<PointerBatch<const T>>,                   \
                                  Same<PointerBatch<const T>>, Same<T>, MatrixView<T>, const GemmOptions&); \
  template void gemm_stack(Context&, std::span<const GemmStack<T>>, Same<T>, const GemmOptions&);           \
  TILEWRIGHT_INSTANTIATE_AT(T, Location::host)                                                              \
  TILEWRIGHT_INSTANTIATE_AT(T, Location::device)                                                            \
  template StackPlan plan_stacks(Context&, std::span<const GemmStack<T, Location::device>>, Location,       \
                                 const GemmOptions&);                                                       \
  template void StackPlan::run<T>(Same<T>, CUstream_st*) const;

TILEWRIGHT_FOR_TYPES(TILEWRIGHT_INSTANTIATE)
#undef TILEWRIGHT_INSTANTIATE
#undef TILEWRIGHT_INSTANTIATE_AT

}  // namespace tilewright
