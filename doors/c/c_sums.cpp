// Sums of products into one C in the C interface: tilewright_gemm_*_batch_reduce, tilewright_gemm_stack and
// plans of stacks.
#include <vector>

#include "c_call.hpp"
#include "core/input/checked.hpp"
#include "gemm/device/stacks.hpp"
#include "gemm/sums/calls.hpp"
#include "gemm/sums/list.hpp"

namespace tilewright {
namespace {

// One call; `p` says how A and B lie.
tilewright_status reduce(tilewright_context* context, const char* function, int dtype, const CProduct& x,
                         GemmProblem p, const tilewright_options* given) {
  return with_options(context, given, [&](Context& ctx, const tilewright_options* options) {
    refuse_values_per_problem(options, function);
    refuse_negative("batch_count", p.batch_count);
    p.sums = Accumulate::batch_reduce;
    if (p.layout == Layout::strided) p.stride_c = saturating_product(x.ldc, is_by_rows(options) ? x.m : x.n);
    const ProductCall call = to_call(dtype, x, p, options, names_of(options));
    run_batch_reduce(Access::impl(ctx), call.problem, call.operands, CallOptions(options), call.names);
  });
}

// A list of a call that outlives it. By rows lists name A and B in turned places.
struct StackCopy {
  SumList list;
  std::vector<StackOffsets> offsets;
  std::vector<StackPointers<void>> pointers;
};

void swap_lists(StackCopy& stack) {
  SumList& list = stack.list;
  const auto swap_list = [&](auto& copy, auto& given) {
    if (given == nullptr || list.count() <= 0) return;
    copy.assign(given, given + list.count());
    for (auto& product : copy) std::swap(product.a, product.b);
    given = copy.data();
  };
  swap_list(stack.offsets, list.offsets);
  swap_list(stack.pointers, list.pointers);
}

StackCopy to_stack(const tilewright_stack& x, int dtype, const void* beta,
                   const tilewright_options* options) {
  static_assert(sizeof(StackOffsets) == sizeof(tilewright_stack_offsets) &&
                sizeof(StackPointers<void>) == sizeof(tilewright_stack_pointers));
  GemmProblem p;
  p.layout = Layout::pointer, p.sums = Accumulate::stack;
  p.batch_count = x.count;
  const ProductCall call =
      to_call(dtype, {x.op_a, x.op_b, x.m, x.n, x.k, x.alpha, x.a, x.lda, x.b, x.ldb, beta, x.c, x.ldc}, p,
              options, names_of(options));
  StackCopy stack;
  SumList& list = stack.list;
  list.problem = call.problem, list.names = &call.names;
  list.alpha = x.alpha;
  list.a = call.operands.a, list.b = call.operands.b, list.c = call.operands.c;
  list.offsets = reinterpret_cast<const StackOffsets*>(x.offsets);
  list.pointers = reinterpret_cast<const StackPointers<void>*>(x.pointers);
  if (is_by_rows(options) && !find_list_fault(list.problem, *list.names)) swap_lists(stack);
  return stack;
}

// The stacks and their lists, as calls and plans take them.
struct Stacks {
  std::vector<StackCopy> stacks;
  std::vector<SumList> lists;
};
Stacks to_stacks(const tilewright_stack* stacks, std::int64_t stack_count, int dtype, const void* beta,
                 Location lists, const tilewright_options* options) {
  if (lists == Location::device) refuse_by_rows(options, "matrices of lists in device memory are");
  Stacks all;
  for (std::int64_t s = 0; s < stack_count; ++s)
    name_entry("stack", s, [&] { all.stacks.push_back(to_stack(stacks[s], dtype, beta, options)); });
  for (const StackCopy& stack : all.stacks) all.lists.push_back(stack.list);
  return all;
}

void check_stacks(const tilewright_stack* stacks, std::int64_t stack_count, const tilewright_options* options,
                  const char* call) {
  refuse_values_per_problem(options, call);
  refuse_negative("stack_count", stack_count);
  if (stacks == nullptr && stack_count > 0) refuse("stacks", "stacks is null");
}

}  // namespace
}  // namespace tilewright

struct tilewright_stack_plan {
  tilewright::StackPlan plan;
  tilewright::DType dtype;
  std::string explanation;
  mutable tilewright::LastErrors errors;
};

using namespace tilewright;  // NOLINT: the functions below are the C names of what is above

extern "C" {

tilewright_status tilewright_gemm_strided_batch_reduce(tilewright_context* context, tilewright_dtype dtype,
                                                       tilewright_op op_a, tilewright_op op_b, int64_t m,
                                                       int64_t n, int64_t k, const void* alpha, const void* a,
                                                       int64_t lda, int64_t stride_a, const void* b,
                                                       int64_t ldb, int64_t stride_b, const void* beta,
                                                       void* c, int64_t ldc, int64_t batch_count,
                                                       const tilewright_options* options) {
  GemmProblem p;
  p.layout = Layout::strided;
  p.batch_count = batch_count, p.stride_a = stride_a, p.stride_b = stride_b;
  return reduce(context, "tilewright_gemm_strided_batch_reduce", dtype,
                {op_a, op_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc}, p, options);
}

tilewright_status tilewright_gemm_pointer_batch_reduce(tilewright_context* context, tilewright_dtype dtype,
                                                       tilewright_op op_a, tilewright_op op_b, int64_t m,
                                                       int64_t n, int64_t k, const void* alpha,
                                                       const void* const* a, int64_t lda,
                                                       const void* const* b, int64_t ldb, const void* beta,
                                                       void* c, int64_t ldc, int64_t batch_count,
                                                       const tilewright_options* options) {
  GemmProblem p;
  p.layout = Layout::pointer;
  p.batch_count = batch_count;
  return reduce(context, "tilewright_gemm_pointer_batch_reduce", dtype,
                {op_a, op_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc}, p, options);
}

tilewright_status tilewright_gemm_stack(tilewright_context* context, tilewright_dtype dtype,
                                        const tilewright_stack* stacks, int64_t stack_count, const void* beta,
                                        const tilewright_options* given) {
  return with_options(context, given, [&](Context& ctx, const tilewright_options* options) {
    check_stacks(stacks, stack_count, options, "tilewright_gemm_stack");
    (void)to_dtype(dtype);
    if (beta == nullptr) refuse("beta", "beta is null");
    const auto location = location_of(options);
    const Stacks all = to_stacks(stacks, stack_count, dtype, beta, location, options);
    const auto run = location == Location::device ? run_device_stacks : run_stacks;
    run(Access::impl(ctx), all.lists, beta, CallOptions(options));
  });
}

tilewright_status tilewright_stack_plan_create(tilewright_context* context, tilewright_dtype dtype,
                                               const tilewright_stack* stacks, int64_t stack_count,
                                               tilewright_location lists, const tilewright_options* given,
                                               tilewright_stack_plan** plan) {
  if (plan != nullptr) *plan = nullptr;
  return with_options(context, given, [&](Context& ctx, const tilewright_options* options) {
    if (plan == nullptr) refuse("plan", "plan is null");
    check_stacks(stacks, stack_count, options, "tilewright_stack_plan_create");
    const auto where = to_enum<Location>("lists", lists, TILEWRIGHT_DEVICE);
    dispatch(to_dtype(dtype), [&]<class T>() {
      const T beta(2);  // of which the plan knows only at its runs
      const Stacks all = to_stacks(stacks, stack_count, dtype, &beta, where, options);
      auto made =
          Access::make<StackPlan>(make_stack_plan(Access::impl(ctx), all.lists, where, CallOptions(options)));
      std::string explanation = made.explain();
      *plan = new tilewright_stack_plan{std::move(made), dtype_of<T>, std::move(explanation), {}};
    });
  });
}

void tilewright_stack_plan_destroy(tilewright_stack_plan* plan) { delete plan; }

tilewright_status tilewright_stack_plan_run(const tilewright_stack_plan* plan, const void* beta,
                                            void* stream) {
  if (plan == nullptr) return TILEWRIGHT_INVALID_ARGUMENT;
  return guarded(plan->errors, [&] {
    dispatch(plan->dtype, [&]<class T>() {
      plan->plan.run<T>(value_of<T>("beta", beta), static_cast<CUstream_st*>(stream));
    });
  });
}

const char* tilewright_stack_plan_explain(const tilewright_stack_plan* plan) {
  return plan == nullptr ? "" : plan->explanation.c_str();
}

const char* tilewright_stack_plan_last_error(const tilewright_stack_plan* plan) {
  return plan == nullptr ? "plan is null" : plan->errors.get();
}

}  // extern "C"
