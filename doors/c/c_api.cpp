// The C interface over the C++ one: arguments become views, exceptions become statuses with a message kept
// for the calling thread. Exceptions of the library end here and nowhere else; nothing is decided here.
#include <complex>
#include <vector>

#include "c_call.hpp"
#include "gemm/cpu_small/calls.hpp"
#include "gemm/cpu_small/groups.hpp"
#include "gemm/device/batches.hpp"

using namespace tilewright;  // NOLINT: the functions below are the C names of what is above

namespace {

// The arrays of a grouped or variable call; element g of each describes group g.
struct GroupArrays {
  const tilewright_op *op_a, *op_b;
  const std::int64_t *m, *n, *k;
  const void* alpha;
  const void* const* a;
  const std::int64_t* lda;
  const void* const* b;
  const std::int64_t* ldb;
  const void* beta;
  void* const* c;
  const std::int64_t* ldc;
  std::int64_t group_count;
  const std::int64_t* group_size;  // null: one problem each

  void swap_sides() { std::swap(op_a, op_b), std::swap(m, n), std::swap(a, b), std::swap(lda, ldb); }
};

// The fast path of one multiplication; false if it does not apply.
bool run_single(Context& context, const ProductCall& call, const tilewright_options* options) {
  const GemmProblem& p = call.problem;
  if (p.location != Location::host) return false;
  const Operands& o = call.operands;
  return dispatch(p.dtype, [&]<class T>() {
    return run_single<T>(Access::impl(context), p.op_a, p.op_b, *static_cast<const T*>(o.alpha),
                         {static_cast<const T*>(o.a), p.a_rows(), p.a_cols(), p.lda},
                         {static_cast<const T*>(o.b), p.b_rows(), p.b_cols(), p.ldb},
                         *static_cast<const T*>(o.beta), {static_cast<T*>(o.c), p.m, p.n, p.ldc},
                         CallOptions(options));
  });
}

void check_arrays(const GroupArrays& x) {
  refuse_negative(x.group_size == nullptr ? "batch_count" : "group_count", x.group_count);
  if (x.group_count == 0) return;
  const std::pair<const char*, const void*> arrays[] = {
      {"op_a", x.op_a},   {"op_b", x.op_b}, {"m", x.m},     {"n", x.n}, {"k", x.k},
      {"alpha", x.alpha}, {"a", x.a},       {"lda", x.lda}, {"b", x.b}, {"ldb", x.ldb},
      {"beta", x.beta},   {"c", x.c},       {"ldc", x.ldc}};
  for (const auto& [name, array] : arrays)
    if (array == nullptr) refuse(name, fmt::format("the array {} is null", name));
}

template <class T, Location L>
std::vector<GemmGroup<T, L>> to_groups(const GroupArrays& x) {
  std::vector<GemmGroup<T, L>> groups;
  groups.reserve(static_cast<std::size_t>(x.group_count));
  std::int64_t first = 0;
  for (std::int64_t g = 0; g < x.group_count; ++g) {
    const std::int64_t count = x.group_size == nullptr ? 1 : x.group_size[g];
    if (count < 0) refuse("group_size", fmt::format("group {}: group_size = {} is negative", g, count));
    GemmGroup<T, L> group;
    group.op_a = to_op(x.op_a[g]);
    group.op_b = to_op(x.op_b[g]);
    group.m = x.m[g];
    group.n = x.n[g];
    group.k = x.k[g];
    group.alpha = static_cast<const T*>(x.alpha)[g];
    group.a = reinterpret_cast<const T* const*>(x.a) + first;
    group.lda = x.lda[g];
    group.b = reinterpret_cast<const T* const*>(x.b) + first;
    group.ldb = x.ldb[g];
    group.beta = static_cast<const T*>(x.beta)[g];
    group.c = reinterpret_cast<T* const*>(x.c) + first;
    group.ldc = x.ldc[g];
    group.count = count;
    groups.push_back(group);
    if (__builtin_add_overflow(first, count, &first))
      refuse("group_size", fmt::format("group {}: group_size = {} makes too many problems in all", g, count));
  }
  return groups;
}

void run_grouped(Context& context, int dtype, GroupArrays arrays, const tilewright_options* options,
                 int info_mode, int* info) {
  if (arrays.group_size != nullptr) refuse_values_per_problem(options, "tilewright_gemm_grouped_batched");
  check_arrays(arrays);
  if (is_by_rows(options)) arrays.swap_sides();
  dispatch_at(dtype, options, [&]<class T, Location L>() {
    if (L == Location::device) refuse_codes_by_rows(options, info_mode, info);
    const auto groups = to_groups<T, L>(arrays);
    const std::span<const GemmGroup<T, L>> all = groups;
    if constexpr (L == Location::host)
      run_groups<T>(Access::impl(context), all, CallOptions(options), to_info(info_mode, info),
                    arrays.group_size == nullptr ? CountedIn::problems : CountedIn::groups,
                    names_of(options));
    else
      run_device_groups<T>(Access::impl(context), all, CallOptions(options), to_info(info_mode, info),
                           names_of(options));
  });
}

// A variable batch in device memory, where its arrays lie, too; its two operations are the host's.
void run_on_device(Context& context, int dtype, const GroupArrays& x, const tilewright_options* options,
                   int info_mode, int* info) {
  refuse_by_rows(options, "variable batches in device memory are");
  refuse_negative("batch_count", x.group_count);
  if (x.op_a == nullptr) refuse("op_a", "the array op_a is null");
  if (x.op_b == nullptr) refuse("op_b", "the array op_b is null");
  const auto bound = [](std::int64_t given) { return given == 0 ? std::int64_t(64) : given; };
  dispatch(to_dtype(dtype), [&]<class T>() {
    const Scalars scalars = scalars_of(x.alpha, x.beta, options);
    VariableBatch<T> batch;
    batch.op_a = to_op(*x.op_a), batch.op_b = to_op(*x.op_b);
    batch.max_m = bound(options->max_m), batch.max_n = bound(options->max_n),
    batch.max_k = bound(options->max_k);
    batch.m = x.m, batch.n = x.n, batch.k = x.k;
    batch.alpha = scalars.alpha_of<T, Location::device>();
    batch.a = reinterpret_cast<const T* const*>(x.a), batch.lda = x.lda;
    batch.b = reinterpret_cast<const T* const*>(x.b), batch.ldb = x.ldb;
    batch.beta = scalars.beta_of<T, Location::device>();
    batch.c = reinterpret_cast<T* const*>(x.c), batch.ldc = x.ldc;
    batch.count = x.group_count;
    gemm_variable<T>(context, batch, CallOptions(options), to_info(info_mode, info));
  });
}

}  // namespace

extern "C" {

tilewright_status tilewright_create(const char* cpu, const char* wisdom, tilewright_context** context) {
  tilewright_context_options options{};
  options.cpu = cpu;
  options.wisdom = wisdom;
  return tilewright_create_with(&options, context);
}

tilewright_status tilewright_create_with(const tilewright_context_options* caller,
                                         tilewright_context** context) {
  if (context == nullptr) return TILEWRIGHT_INVALID_ARGUMENT;
  *context = new (std::nothrow) tilewright_context;
  if (*context == nullptr) return TILEWRIGHT_OUT_OF_MEMORY;
  return guarded((*context)->errors, [&] {
    const Sized<tilewright_context_options> given("options", caller);
    ContextOptions options;
    if (given != nullptr && given->cpu != nullptr) options.cpu = given->cpu;
    if (given != nullptr && given->wisdom != nullptr) options.wisdom = given->wisdom;
    options.use_wisdom = given == nullptr || given->no_wisdom == 0;
    options.no_jit = given != nullptr && given->no_jit != 0;
    options.notices = given == nullptr || given->no_notices == 0;
    if (given != nullptr && given->on_notice != nullptr)
      options.on_notice = [hook = given->on_notice, user = given->notice_user](const std::string& notice) {
        hook(notice.c_str(), user);
      };
    (*context)->context = std::make_unique<Context>(options);
  });
}

void tilewright_destroy(tilewright_context* context) { delete context; }

const char* tilewright_last_error(const tilewright_context* context) {
  return context == nullptr ? "context is null" : context->errors.get();
}

const char* tilewright_version(void) { return TILEWRIGHT_VERSION; }

tilewright_status tilewright_gemm(tilewright_context* context, tilewright_dtype dtype, tilewright_op op_a,
                                  tilewright_op op_b, int64_t m, int64_t n, int64_t k, const void* alpha,
                                  const void* a, int64_t lda, const void* b, int64_t ldb, const void* beta,
                                  void* c, int64_t ldc, const tilewright_options* given) {
  return with_options(context, given, [&](Context& ctx, const tilewright_options* options) {
    refuse_values_per_problem(options, "tilewright_gemm");
    GemmProblem single;
    const ProductCall call = to_call(dtype, {op_a, op_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc},
                                     single, options, names_of(options));
    if (!run_single(ctx, call, options)) run_c_call(ctx, call, options, TILEWRIGHT_INFO_NONE, nullptr);
  });
}

tilewright_status tilewright_gemm_pointer_batched(tilewright_context* context, tilewright_dtype dtype,
                                                  tilewright_op op_a, tilewright_op op_b, int64_t m,
                                                  int64_t n, int64_t k, const void* alpha,
                                                  const void* const* a, int64_t lda, const void* const* b,
                                                  int64_t ldb, const void* beta, void* const* c, int64_t ldc,
                                                  int64_t batch_count, const tilewright_options* given,
                                                  tilewright_info_mode info_mode, int* info) {
  return with_options(context, given, [&](Context& ctx, const tilewright_options* options) {
    refuse_negative("batch_count", batch_count);
    GemmProblem p;
    p.layout = Layout::pointer;
    p.batch_count = batch_count;
    const CProduct x{op_a, op_b, m, n, k, alpha, a, lda, b, ldb, beta, const_cast<void**>(c), ldc};
    run_c_call(ctx, to_call(dtype, x, p, options, names_of(options)), options, info_mode, info);
  });
}

tilewright_status tilewright_gemm_interleaved_batched(tilewright_context* context, tilewright_dtype dtype,
                                                      tilewright_op op_a, tilewright_op op_b, int64_t m,
                                                      int64_t n, int64_t k, const void* alpha, const void* a,
                                                      int64_t lda, const void* b, int64_t ldb,
                                                      const void* beta, void* c, int64_t ldc, int64_t block,
                                                      int64_t batch_count, const tilewright_options* given,
                                                      tilewright_info_mode info_mode, int* info) {
  return with_options(context, given, [&](Context& ctx, const tilewright_options* options) {
    refuse_negative("batch_count", batch_count);
    GemmProblem p;
    p.layout = block == batch_count ? Layout::interleaved : Layout::block_interleaved;
    p.batch_count = batch_count, p.block = block;
    const CProduct x{op_a, op_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc};
    run_c_call(ctx, to_call(dtype, x, p, options, names_of(options)), options, info_mode, info);
  });
}

tilewright_status tilewright_gemm_grouped_batched(tilewright_context* context, tilewright_dtype dtype,
                                                  const tilewright_op* op_a, const tilewright_op* op_b,
                                                  const int64_t* m, const int64_t* n, const int64_t* k,
                                                  const void* alpha, const void* const* a, const int64_t* lda,
                                                  const void* const* b, const int64_t* ldb, const void* beta,
                                                  void* const* c, const int64_t* ldc, int64_t group_count,
                                                  const int64_t* group_size, const tilewright_options* given,
                                                  tilewright_info_mode info_mode, int* info) {
  return with_options(context, given, [&](Context& ctx, const tilewright_options* options) {
    if (group_size == nullptr && group_count > 0) refuse("group_size", "the array group_size is null");
    run_grouped(ctx, dtype,
                {op_a, op_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, group_count, group_size}, options,
                info_mode, info);
  });
}

tilewright_status tilewright_gemm_variable_batched(
    tilewright_context* context, tilewright_dtype dtype, const tilewright_op* op_a, const tilewright_op* op_b,
    const int64_t* m, const int64_t* n, const int64_t* k, const void* alpha, const void* const* a,
    const int64_t* lda, const void* const* b, const int64_t* ldb, const void* beta, void* const* c,
    const int64_t* ldc, int64_t batch_count, const tilewright_options* given, tilewright_info_mode info_mode,
    int* info) {
  return with_options(context, given, [&](Context& ctx, const tilewright_options* options) {
    const GroupArrays arrays{op_a, op_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, batch_count, nullptr};
    if (location_of(options) == Location::device)
      run_on_device(ctx, dtype, arrays, options, info_mode, info);
    else
      run_grouped(ctx, dtype, arrays, options, info_mode, info);
  });
}

tilewright_status tilewright_prepare(tilewright_context* context, const char* const* problems,
                                     int64_t problem_count, const tilewright_options* given) {
  return with_options(context, given, [&](Context& ctx, const tilewright_options* options) {
    refuse_negative("problem_count", problem_count);
    refuse_by_rows(options, "the text of a problem is");
    refuse_values_of_plans(options);
    if (problems == nullptr && problem_count > 0) refuse("problems", "the array problems is null");
    std::vector<GemmProblem> parsed;
    for (int64_t i = 0; i < problem_count; ++i) {
      if (problems[i] == nullptr) refuse("problems", fmt::format("problems[{}] is null", i));
      parsed.push_back(parse_problem(problems[i]));
    }
    prepare(ctx, parsed, CallOptions(options));
  });
}

tilewright_status tilewright_plan_create(tilewright_context* context, const char* problem,
                                         const tilewright_options* given, tilewright_plan** plan) {
  if (plan != nullptr) *plan = nullptr;
  return with_options(context, given, [&](Context& ctx, const tilewright_options* options) {
    if (problem == nullptr) refuse("problem", "problem is null");
    if (plan == nullptr) refuse("plan", "plan is null");
    refuse_by_rows(options, "the text of a problem is");
    refuse_values_of_plans(options);
    const GemmProblem parsed = parse_problem(problem);
    GemmPlan made = tilewright::plan(ctx, parsed, CallOptions(options));
    std::string explanation = made.explain();
    *plan = new tilewright_plan{std::move(made), scalars_vary(parsed), std::move(explanation), {}};
  });
}

void tilewright_plan_destroy(tilewright_plan* plan) { delete plan; }

tilewright_status tilewright_plan_run(const tilewright_plan* plan, const void* alpha, const void* a,
                                      const void* b, const void* beta, void* c) {
  return tilewright_plan_run_on(plan, alpha, a, b, beta, c, nullptr);
}

tilewright_status tilewright_plan_run_on(const tilewright_plan* plan, const void* alpha, const void* a,
                                         const void* b, const void* beta, void* c, void* stream) {
  if (plan == nullptr) return TILEWRIGHT_INVALID_ARGUMENT;
  return guarded(plan->errors, [&] {
    const GemmProblem& p = plan->plan.problem();
    auto* const queue = static_cast<CUstream_st*>(stream);
    dispatch(p.dtype, [&]<class T>() {
      const Scalars scalars{alpha, beta, plan->vary};
      const auto x = scalars.alpha_of<T, Location::host>(), y = scalars.beta_of<T, Location::host>();
      if (p.layout == Layout::pointer)
        plan->plan.run<T>(x, static_cast<const T* const*>(a), static_cast<const T* const*>(b), y,
                          static_cast<T* const*>(c), queue);
      else
        plan->plan.run<T>(x, static_cast<const T*>(a), static_cast<const T*>(b), y, static_cast<T*>(c),
                          queue);
    });
  });
}

const char* tilewright_plan_explain(const tilewright_plan* plan) {
  return plan == nullptr ? "" : plan->explanation.c_str();
}

const char* tilewright_plan_last_error(const tilewright_plan* plan) {
  return plan == nullptr ? "plan is null" : plan->errors.get();
}

}  // extern "C"
