// Sums of products into one C in the C interface: tilewright_gemm_*_batch_reduce, tilewright_gemm_stack and
// plans of stacks.
#include <vector>

#include "c_call.hpp"
#include "row_major.hpp"

namespace tilewright {
namespace {

// One call, whose A and B come as strided or pointer batches by make(data, rows, cols, ld, stride).
template <class Batch, class Make>
tilewright_status reduce(tilewright_context* context, const char* call, int dtype, int op_a, int op_b,
                         std::int64_t m, std::int64_t n, std::int64_t k, const void* alpha, Batch a, Batch b,
                         const void* beta, void* c, std::int64_t ldc, std::int64_t batch_count,
                         const tilewright_options* options, Make&& make) {
  return with_context(context, [&](Context& ctx) {
    refuse_values_per_problem(options, call);
    refuse_negative("batch_count", batch_count);
    if (is_by_rows(options)) {
      check_by_rows(op_a, op_b, m, n, k, a.ld, b.ld, ldc);
      swap_sides(op_a, op_b, m, n, a, b);
    }
    dispatch_at(dtype, options, [&]<class T, Location L>() {
      const CallShape s = to_shape(op_a, op_b, m, n, k);
      const auto batch_a = make.template operator()<T, L>(a, s.a_rows(), s.a_cols());
      const auto batch_b = make.template operator()<T, L>(b, s.b_rows(), s.b_cols());
      run_by_rows(options, [&] {
        gemm_batch_reduce<T, L>(ctx, s.op_a, s.op_b, value_of<T>("alpha", alpha), batch_a, batch_b,
                                value_of<T>("beta", beta), MatrixView<T, L>{static_cast<T*>(c), m, n, ldc},
                                CallOptions(options));
      });
    });
  });
}

template <class T, Location L>
GemmStack<T, L> to_stack(const tilewright_stack& x) {
  GemmStack<T, L> stack;
  stack.op_a = to_op(x.op_a), stack.op_b = to_op(x.op_b);
  stack.m = x.m, stack.n = x.n, stack.k = x.k;
  stack.alpha = value_of<T>("alpha", x.alpha);
  stack.a = static_cast<const T*>(x.a), stack.lda = x.lda;
  stack.b = static_cast<const T*>(x.b), stack.ldb = x.ldb;
  stack.c = static_cast<T*>(x.c), stack.ldc = x.ldc;
  static_assert(sizeof(StackOffsets) == sizeof(tilewright_stack_offsets) &&
                sizeof(StackPointers<T>) == sizeof(tilewright_stack_pointers));
  stack.offsets = reinterpret_cast<const StackOffsets*>(x.offsets);
  stack.pointers = reinterpret_cast<const StackPointers<T>*>(x.pointers);
  stack.count = x.count;
  return stack;
}

// A stack by rows, whose lists name A and B in turned places.
template <class T>
struct SwappedLists {
  std::vector<StackOffsets> offsets;
  std::vector<StackPointers<T>> pointers;

  template <Location L>
  void swap(GemmStack<T, L>& s) {
    check_by_rows(int(s.op_a), int(s.op_b), s.m, s.n, s.k, s.lda, s.ldb, s.ldc);
    check_bases(s);
    swap_sides(s.op_a, s.op_b, s.m, s.n, s.a, s.b, s.lda, s.ldb);
    const auto swap_list = [&](auto& copy, auto& list) {
      if (list == nullptr || s.count <= 0) return;
      copy.assign(list, list + s.count);
      for (auto& product : copy) std::swap(product.a, product.b);
      list = copy.data();
    };
    swap_list(offsets, s.offsets);
    swap_list(pointers, s.pointers);
  }

 private:
  // Before the two change names.
  template <Location L>
  static void check_bases(const GemmStack<T, L>& s) {
    const bool reads_ab = s.m > 0 && s.n > 0 && s.k > 0 && s.count > 0 && s.alpha != T(0);
    if (s.pointers != nullptr || !reads_ab) return;
    if (s.a == nullptr) refuse("a", "a is null");
    if (s.b == nullptr) refuse("b", "b is null");
  }
};

// f(stacks) of a call whose lists the host reads, or which lie by columns.
template <class T, Location L, class F>
void with_stacks(const tilewright_stack* stacks, std::int64_t stack_count, Location lists,
                 const tilewright_options* options, F&& f) {
  if (lists == Location::device) refuse_by_rows(options, "lists in device memory name matrices");
  std::vector<GemmStack<T, L>> all;
  std::vector<SwappedLists<T>> swapped(is_by_rows(options) ? std::size_t(stack_count) : 0);
  for (std::int64_t s = 0; s < stack_count; ++s)
    name_entry("stack", s, [&] {
      all.push_back(to_stack<T, L>(stacks[s]));
      if (!swapped.empty()) swapped[std::size_t(s)].swap(all.back());
    });
  run_by_rows(options, [&] { f(std::span<const GemmStack<T, L>>(all)); });
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
  struct Strided {
    const void* data;
    std::int64_t ld, stride;
  };
  return reduce(context, "tilewright_gemm_strided_batch_reduce", dtype, op_a, op_b, m, n, k, alpha,
                Strided{a, lda, stride_a}, Strided{b, ldb, stride_b}, beta, c, ldc, batch_count, options,
                [&]<class T, Location L>(const Strided& x, std::int64_t rows, std::int64_t cols) {
                  return StridedBatch<const T, L>{
                      static_cast<const T*>(x.data), rows, cols, x.ld, x.stride, batch_count};
                });
}

tilewright_status tilewright_gemm_pointer_batch_reduce(tilewright_context* context, tilewright_dtype dtype,
                                                       tilewright_op op_a, tilewright_op op_b, int64_t m,
                                                       int64_t n, int64_t k, const void* alpha,
                                                       const void* const* a, int64_t lda,
                                                       const void* const* b, int64_t ldb, const void* beta,
                                                       void* c, int64_t ldc, int64_t batch_count,
                                                       const tilewright_options* options) {
  struct Pointers {
    const void* const* data;
    std::int64_t ld;
  };
  return reduce(context, "tilewright_gemm_pointer_batch_reduce", dtype, op_a, op_b, m, n, k, alpha,
                Pointers{a, lda}, Pointers{b, ldb}, beta, c, ldc, batch_count, options,
                [&]<class T, Location L>(const Pointers& x, std::int64_t rows, std::int64_t cols) {
                  return PointerBatch<const T, L>{reinterpret_cast<const T* const*>(x.data), rows, cols, x.ld,
                                                  batch_count};
                });
}

tilewright_status tilewright_gemm_stack(tilewright_context* context, tilewright_dtype dtype,
                                        const tilewright_stack* stacks, int64_t stack_count, const void* beta,
                                        const tilewright_options* options) {
  return with_context(context, [&](Context& ctx) {
    check_stacks(stacks, stack_count, options, "tilewright_gemm_stack");
    dispatch_at(dtype, options, [&]<class T, Location L>() {
      with_stacks<T, L>(stacks, stack_count, L, options, [&](auto all) {
        gemm_stack<T, L>(ctx, all, value_of<T>("beta", beta), CallOptions(options));
      });
    });
  });
}

tilewright_status tilewright_stack_plan_create(tilewright_context* context, tilewright_dtype dtype,
                                               const tilewright_stack* stacks, int64_t stack_count,
                                               tilewright_location lists, const tilewright_options* options,
                                               tilewright_stack_plan** plan) {
  if (plan != nullptr) *plan = nullptr;
  return with_context(context, [&](Context& ctx) {
    if (plan == nullptr) refuse("plan", "plan is null");
    check_stacks(stacks, stack_count, options, "tilewright_stack_plan_create");
    const auto where = to_enum<Location>("lists", lists, TILEWRIGHT_DEVICE);
    dispatch(to_dtype(dtype), [&]<class T>() {
      with_stacks<T, Location::device>(stacks, stack_count, where, options, [&](auto all) {
        StackPlan made = plan_stacks<T>(ctx, all, where, CallOptions(options));
        std::string explanation = made.explain();
        *plan = new tilewright_stack_plan{std::move(made), dtype_of<T>, std::move(explanation), {}};
      });
    });
  });
}

void tilewright_stack_plan_destroy(tilewright_stack_plan* plan) { delete plan; }

tilewright_status tilewright_stack_plan_run(const tilewright_stack_plan* plan, const void* beta,
                                            void* stream) {
  if (plan == nullptr) return TILEWRIGHT_INVALID_ARGUMENT;
  return guarded(plan->errors, [&] {
    dispatch(plan->dtype, [&]<class T>() { plan->plan.run<T>(value_of<T>("beta", beta), stream); });
  });
}

const char* tilewright_stack_plan_explain(const tilewright_stack_plan* plan) {
  return plan == nullptr ? "" : plan->explanation.c_str();
}

const char* tilewright_stack_plan_last_error(const tilewright_stack_plan* plan) {
  return plan == nullptr ? "plan is null" : plan->errors.get();
}

}  // extern "C"
