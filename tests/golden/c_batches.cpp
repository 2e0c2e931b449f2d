// The C interface: groups, variable batches, sums of products and stacks.
#include "golden/c_calls.hpp"

namespace tilewright::golden {
namespace {

// Arrays with an entry for each of two groups, or of three problems; the second entry is spoiled.
struct CArrays : CCall {
  tilewright_op all_op_a[batch]{}, all_op_b[batch]{};
  std::int64_t all_m[batch]{m, m, m}, all_n[batch]{n, n, n}, all_k[batch]{k, k, k};
  std::int64_t all_lda[batch]{m, m, m}, all_ldb[batch]{k, k, k}, all_ldc[batch]{m, m, m};
  std::int64_t sizes[batch]{2, 1, 0};
  const void *a_list[batch] = {a_pointers[0], a_pointers[1], a_pointers[2]},
             *b_list[batch] = {b_pointers[0], b_pointers[1], b_pointers[2]};
  void* c_list[batch] = {c_pointers[0], c_pointers[1], c_pointers[2]};
  const tilewright_op *at_op_a = all_op_a, *at_op_b = all_op_b;
  const std::int64_t *at_m = all_m, *at_n = all_n, *at_k = all_k;
  const std::int64_t *at_lda = all_lda, *at_ldb = all_ldb, *at_ldc = all_ldc, *at_sizes = sizes;
  const void *const *at_a = a_list, *const *at_b = b_list;
  void* const* at_c = c_list;
  std::int64_t count = 2;
};
struct CGrouped : CArrays {
  tilewright_status call() {
    return tilewright_gemm_grouped_batched(context, dtype, at_op_a, at_op_b, at_m, at_n, at_k, alpha, at_a,
                                           at_lda, at_b, at_ldb, beta, at_c, at_ldc, count, at_sizes,
                                           &options, info_mode, info);
  }
};
struct CVariable : CArrays {
  CVariable() { count = batch; }
  tilewright_status call() {
    return tilewright_gemm_variable_batched(context, dtype, at_op_a, at_op_b, at_m, at_n, at_k, alpha, at_a,
                                            at_lda, at_b, at_ldb, beta, at_c, at_ldc, count, &options,
                                            info_mode, info);
  }
};
template <class X>
struct ArraysByRows : X {
  ArraysByRows() {
    X::options.row_major = 1;
    std::fill_n(X::all_lda, batch, k);
    std::fill_n(X::all_ldb, batch, n), std::fill_n(X::all_ldc, batch, n);
  }
};

struct CVariableOnDevice : CArrays {
  CVariableOnDevice() {
    count = batch;
    options.location = TILEWRIGHT_DEVICE;
    options.max_m = m, options.max_n = n, options.max_k = k;
  }
  tilewright_status call() {
    return tilewright_gemm_variable_batched(context, dtype, at_op_a, at_op_b, at_m, at_n, at_k, alpha, at_a,
                                            at_lda, at_b, at_ldb, beta, at_c, at_ldc, count, &options,
                                            info_mode, info);
  }
};

struct CReduceStrided : CCall {
  const void *at_a = a.data(), *at_b = b.data();
  void* at_c = c.data();
  std::int64_t stride_a = m * k, stride_b = k * n, count = batch;
  tilewright_status call() {
    return tilewright_gemm_strided_batch_reduce(context, dtype, op_a, op_b, rows, cols, depth, alpha, at_a,
                                                lda, stride_a, at_b, ldb, stride_b, beta, at_c, ldc, count,
                                                &options);
  }
};
struct CReducePointers : CCall {
  const void *a_list[batch] = {a_pointers[0], a_pointers[1], a_pointers[2]},
             *b_list[batch] = {b_pointers[0], b_pointers[1], b_pointers[2]};
  const void *const *at_a = a_list, *const *at_b = b_list;
  void* at_c = c.data();
  std::int64_t count = batch;
  tilewright_status call() {
    return tilewright_gemm_pointer_batch_reduce(context, dtype, op_a, op_b, rows, cols, depth, alpha, at_a,
                                                lda, at_b, ldb, beta, at_c, ldc, count, &options);
  }
};

struct CStacks : CCall {
  tilewright_stack_offsets lists[2][2] = {{{0, 0, 0}, {12, 8, 0}}, {{0, 0, 6}, {12, 8, 12}}};
  tilewright_stack_pointers pointers[2] = {{&a[0], &b[0], &c[6]}, {&a[12], &b[8], &c[12]}};
  tilewright_stack stacks[2] = {stack(0), stack(1)};
  const tilewright_stack* at_stacks = stacks;
  std::int64_t count = 2;
  tilewright_stack& second() { return stacks[1]; }
  tilewright_status call() { return tilewright_gemm_stack(context, dtype, at_stacks, count, beta, &options); }

 private:
  tilewright_stack stack(int i) {
    return {op_a, op_b, m, n, k, alphas.data(), a.data(), m, b.data(), k, c.data(), m, lists[i], nullptr, 2};
  }
};
struct StacksByRows : CStacks {
  StacksByRows() {
    options.row_major = 1;
    for (auto& stack : stacks) stack.lda = k, stack.ldb = n, stack.ldc = n;
  }
};
struct CStackPlan : CStacks {
  tilewright_location where = TILEWRIGHT_HOST;
  tilewright_stack_plan* made = nullptr;
  tilewright_stack_plan** plan = &made;
  tilewright_status call() {
    return tilewright_stack_plan_create(context, dtype, at_stacks, count, where, &options, plan);
  }
};

template <class X>
void spoil_arrays(const Battery<X>& t) {
  t.null("op_a", AT(x.at_op_a));
  t.null("op_b", AT(x.at_op_b));
  t.null("m", AT(x.at_m));
  t.null("n", AT(x.at_n));
  t.null("k", AT(x.at_k));
  t.null("a", AT(x.at_a));
  t.null("lda", AT(x.at_lda));
  t.null("b", AT(x.at_b));
  t.null("ldb", AT(x.at_ldb));
  t.null("c", AT(x.at_c));
  t.null("ldc", AT(x.at_ldc));
}

template <class X>
void spoil_entries(const Battery<X>& t) {
  for (const int value : {-1, 7}) {
    t.run("op_a[1]=" + std::to_string(value),
          [value](X& x) { x.all_op_a[1] = c_enum<tilewright_op>(value); });
    t.run("op_b[1]=" + std::to_string(value),
          [value](X& x) { x.all_op_b[1] = c_enum<tilewright_op>(value); });
  }
  const X sample;
  t.numbers("m[1]", 0, AT(x.all_m[1]));
  t.numbers("n[1]", 0, AT(x.all_n[1]));
  t.numbers("k[1]", 0, AT(x.all_k[1]));
  t.numbers("lda[1]", sample.all_lda[1], AT(x.all_lda[1]));
  t.numbers("ldb[1]", sample.all_ldb[1], AT(x.all_ldb[1]));
  t.numbers("ldc[1]", sample.all_ldc[1], AT(x.all_ldc[1]));
  t.run("a[1]=null", [](X& x) { x.a_list[1] = nullptr; });
  t.run("b[1]=null", [](X& x) { x.b_list[1] = nullptr; });
  t.run("c[1]=null", [](X& x) { x.c_list[1] = nullptr; });
  t.run("a[1]=c[1]", [](X& x) { x.a_list[1] = x.c_list[1]; });
  t.run("checked,c[1]=c[0]", [](X& x) { x.options.checked = 1, x.c_list[1] = x.c_list[0]; });
  spoil_c_info(t);
  tell_c_codes(t, "m[1]=-1", [](X& x) { x.all_m[1] = -1; });
  tell_c_codes(t, "ldb[1]=1", [](X& x) { x.all_ldb[1] = 1; });
  tell_c_codes(t, "a[1]=null", [](X& x) { x.a_list[1] = nullptr; });
}

template <class X>
Battery<X> tell_grouped(const char* call) {
  const Battery<X> t(call);
  spoil_c_scalars(t);
  spoil_arrays(t);
  spoil_entries(t);
  t.null("group_size", AT(x.at_sizes));
  t.numbers("group_size[1]", 0, AT(x.sizes[1]));
  t.numbers("group_count", 0, AT(x.count));
  return t;
}

template <class X>
Battery<X> tell_variable(const char* call) {
  const Battery<X> t(call);
  spoil_c_scalars(t);
  spoil_arrays(t);
  spoil_entries(t);
  t.numbers("batch_count", 0, AT(x.count));
  return t;
}

void tell_on_device() {
  const Battery<CVariableOnDevice> t("tilewright_gemm_variable_batched/device");
  spoil_c_scalars(t);
  spoil_arrays(t);
  for (const int value : {-1, 7})
    t.run("op_a=" + std::to_string(value),
          [value](CVariableOnDevice& x) { x.all_op_a[0] = c_enum<tilewright_op>(value); });
  t.numbers("max_m", 0, AT(x.options.max_m));
  t.numbers("max_n", 0, AT(x.options.max_n));
  t.numbers("max_k", 0, AT(x.options.max_k));
  t.numbers("batch_count", 0, AT(x.count));
  t.run("row_major=1", [](CVariableOnDevice& x) { x.options.row_major = 1; });
  t.run("location=7", [](CVariableOnDevice& x) { x.options.location = 7; });
  t.run("device=-1", [](CVariableOnDevice& x) { x.options.device = -1; });
}

template <class X>
Battery<X> tell_reduce(const char* call) {
  const Battery<X> t(call);
  spoil_c_shape(t);
  t.numbers("batch_count", 0, AT(x.count));
  if constexpr (requires(X x) { x.stride_a; }) {
    t.numbers("stride_a", 0, AT(x.stride_a));
    t.numbers("stride_b", 0, AT(x.stride_b));
    t.run("a=c", [](X& x) { x.at_a = x.at_c; });
  } else {
    t.run("a[1]=null", [](X& x) { x.a_list[1] = nullptr; });
    t.run("b[2]=null", [](X& x) { x.b_list[2] = nullptr; });
    t.run("a[1]=c", [](X& x) { x.a_list[1] = x.at_c; });
  }
  return t;
}

template <class X>
void spoil_stacks(const Battery<X>& t) {
  spoil_c_kind(t);
  const std::unique_ptr<X> sample = std::make_unique<X>();
  for (const int value : {-1, 7})
    t.run("op_a=" + std::to_string(value), [value](X& x) { x.second().op_a = c_enum<tilewright_op>(value); });
  t.numbers("m", 0, AT(x.second().m));
  t.numbers("n", 0, AT(x.second().n));
  t.numbers("k", 0, AT(x.second().k));
  t.numbers("lda", sample->second().lda, AT(x.second().lda));
  t.numbers("ldb", sample->second().ldb, AT(x.second().ldb));
  t.numbers("ldc", sample->second().ldc, AT(x.second().ldc));
  t.null("stacks[1].alpha", AT(x.second().alpha));
  t.null("a", AT(x.second().a));
  t.null("b", AT(x.second().b));
  t.null("c", AT(x.second().c));
  t.null("offsets", AT(x.second().offsets));
  t.run("offsets,pointers", [](X& x) { x.second().pointers = x.pointers; });
  t.small_numbers("count", 0, AT(x.second().count));
  // A list by rows is copied before its length is judged.
  if (sample->options.row_major == 0) t.run("count=INT64_MAX", [](X& x) { x.second().count = int64_max; });
  t.numbers("offsets[1].a", 0, AT(x.lists[1][1].a));
  t.numbers("offsets[1].c", 0, AT(x.lists[1][1].c));
  t.run("a=c", [](X& x) { x.second().a = x.c.data() + 6; });
  t.null("stacks", AT(x.at_stacks));
  t.small_numbers("stack_count", 0, AT(x.count));
}

template <class X>
Battery<X> tell_stack(const char* call) {
  const Battery<X> t(call);
  spoil_stacks(t);
  t.null("beta", AT(x.beta));
  t.run("pointers[1].a=null", [](X& x) {
    x.second().offsets = nullptr, x.second().pointers = x.pointers, x.pointers[1].a = nullptr;
  });
  t.run("pointers[1].b=null", [](X& x) {
    x.second().offsets = nullptr, x.second().pointers = x.pointers, x.pointers[1].b = nullptr;
  });
  t.run("checked,offsets[1].c=1", [](X& x) { x.options.checked = 1, x.lists[1][1].c = 1; });
  return t;
}

void tell_stack_plans() {
  const Battery<CStackPlan> t("tilewright_stack_plan_create");
  spoil_stacks(t);
  t.null("plan", AT(x.plan));
  for (const int value : {-1, 7})
    t.run("lists=" + std::to_string(value),
          [value](CStackPlan& x) { x.where = c_enum<tilewright_location>(value); });
  t.run("row_major=1,lists=device",
        [](CStackPlan& x) { x.options.row_major = 1, x.where = TILEWRIGHT_DEVICE; });
  t.run("alpha_per_problem=1", [](CStackPlan& x) { x.options.alpha_per_problem = 1; });
  t.run("threads=-1", [](CStackPlan& x) { x.options.threads = -1; });
  const auto run = [](const char* what, tilewright_stack_plan* plan) {
    tell("tilewright_stack_plan_run", what,
         refused_by(tilewright_stack_plan_run(plan, nullptr, nullptr),
                    tilewright_stack_plan_last_error(plan)));
  };
  run("plan=null", nullptr);
}

}  // namespace

void tell_c_batches() {
  spoil_options(tell_grouped<CGrouped>("tilewright_gemm_grouped_batched"), spoiled_c_options());
  tell_grouped<ArraysByRows<CGrouped>>("tilewright_gemm_grouped_batched(row_major)");
  spoil_options(tell_variable<CVariable>("tilewright_gemm_variable_batched"), spoiled_c_options());
  tell_variable<ArraysByRows<CVariable>>("tilewright_gemm_variable_batched(row_major)");
  tell_on_device();
  spoil_options(tell_reduce<CReduceStrided>("tilewright_gemm_strided_batch_reduce"), spoiled_c_options());
  tell_reduce<ByRows<CReduceStrided>>("tilewright_gemm_strided_batch_reduce(row_major)");
  tell_reduce<CReducePointers>("tilewright_gemm_pointer_batch_reduce");
  tell_reduce<ByRows<CReducePointers>>("tilewright_gemm_pointer_batch_reduce(row_major)");
  spoil_options(tell_stack<CStacks>("tilewright_gemm_stack"), spoiled_c_options());
  tell_stack<StacksByRows>("tilewright_gemm_stack(row_major)");
  tell_stack_plans();
}

}  // namespace tilewright::golden
