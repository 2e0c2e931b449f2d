// The C interface over the C++ one: arguments become views, exceptions become statuses with a message kept
// for the calling thread. Exceptions of the library end here and nowhere else; nothing is decided here.
#include <complex>
#include <vector>

#include "c_handles.hpp"
#include "core/dispatch.hpp"
#include "core/fields.hpp"
#include "core/problem.hpp"
#include "tilewright/gemm.hpp"
#include "tilewright/tilewright.h"

namespace tilewright {
namespace {

template <class E>
E to_enum(const char* argument, int value, int last) {
  if (value < 0 || value > last)
    refuse(argument, fmt::format("{} = {} is none of 0 to {}", argument, value, last));
  return static_cast<E>(value);
}
DType to_dtype(int value) { return to_enum<DType>("dtype", value, TILEWRIGHT_C128); }
// A value that is no op stays none, so that the library's own checks report it like any other bad argument.
Op to_op(int value) { return static_cast<Op>(value < 0 || value > 255 ? 255 : value); }

GemmOptions to_options(const tilewright_options* options) {
  GemmOptions result;
  if (options == nullptr) return result;
  result.target = to_enum<Target>("target", options->target, TILEWRIGHT_TARGET_HYBRID);
  result.objective = to_enum<Objective>("objective", options->objective, TILEWRIGHT_OBJECTIVE_ENERGY_WITHIN);
  // All zeros is the default, so that of the goals without a weight, and of energy_within, 0 stands for none.
  if (options->objective_weight != 0 || result.objective == Objective::alpha)
    result.objective_weight = options->objective_weight;
  result.threads = options->threads;
  result.checked = options->checked != 0;
  result.residency = to_enum<Residency>("residency", options->residency, TILEWRIGHT_RESIDENCY_L1);
  if (options->candidate != nullptr) result.candidate = options->candidate;
  if (options->config != nullptr) result.config = options->config;
  result.device = options->device;
  result.stream = options->stream;
  result.align_bytes = options->align_bytes;
  result.tune_on_miss.budget_s = options->tune_on_miss_s;
  return result;
}

// f.operator()<T, location>() for the element type and for where the options say the operands lie.
template <class F>
void dispatch_at(int dtype, const tilewright_options* options, F&& f) {
  const auto location = options == nullptr
                            ? Location::host
                            : to_enum<Location>("location", options->location, TILEWRIGHT_DEVICE);
  dispatch(to_dtype(dtype), [&]<class T>() {
    if (location == Location::device)
      f.template operator()<T, Location::device>();
    else
      f.template operator()<T, Location::host>();
  });
}

BatchInfo to_info(int mode, int* codes) {
  const auto info_mode = to_enum<InfoMode>("info_mode", mode, TILEWRIGHT_INFO_NONE);
  return codes == nullptr ? BatchInfo{} : BatchInfo{info_mode, codes};
}

template <class T>
T value_of(const char* argument, const void* value) {
  if (value == nullptr) refuse(argument, fmt::format("{} is null", argument));
  return *static_cast<const T*>(value);
}

}  // namespace
}  // namespace tilewright

using namespace tilewright;  // NOLINT: the functions below are the C names of what is above

struct tilewright_plan {
  GemmPlan plan;
  std::string explanation;
  mutable LastErrors errors;
};

namespace {

// Sizes, ops and leading dimensions of one multiplication, and its scalars still by address.
struct Shape {
  Op op_a, op_b;
  std::int64_t m, n, k;

  std::int64_t a_rows() const { return op_a == Op::none ? m : k; }
  std::int64_t a_cols() const { return op_a == Op::none ? k : m; }
  std::int64_t b_rows() const { return op_b == Op::none ? k : n; }
  std::int64_t b_cols() const { return op_b == Op::none ? n : k; }
};
Shape to_shape(int op_a, int op_b, std::int64_t m, std::int64_t n, std::int64_t k) {
  return {to_op(op_a), to_op(op_b), m, n, k};
}

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
};

void check_arrays(const GroupArrays& x) {
  if (x.group_count < 0) refuse("group_count", fmt::format("group_count = {} is negative", x.group_count));
  if (x.group_count == 0) return;
  const std::pair<const char*, const void*> arrays[] = {
      {"op_a", x.op_a},   {"op_b", x.op_b}, {"m", x.m},     {"n", x.n}, {"k", x.k},
      {"alpha", x.alpha}, {"a", x.a},       {"lda", x.lda}, {"b", x.b}, {"ldb", x.ldb},
      {"beta", x.beta},   {"c", x.c},       {"ldc", x.ldc}};
  for (const auto& [name, array] : arrays)
    if (array == nullptr) refuse(name, fmt::format("the array {} is null", name));
}

template <class T>
std::vector<GemmGroup<T>> to_groups(const GroupArrays& x) {
  check_arrays(x);
  std::vector<GemmGroup<T>> groups;
  groups.reserve(static_cast<std::size_t>(x.group_count));
  std::int64_t first = 0;
  for (std::int64_t g = 0; g < x.group_count; ++g) {
    const std::int64_t count = x.group_size == nullptr ? 1 : x.group_size[g];
    if (count < 0) refuse("group_size", fmt::format("group {}: group_size = {} is negative", g, count));
    GemmGroup<T> group;
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
    first += count;
  }
  return groups;
}

tilewright_status run_groups(tilewright_context* handle, int dtype, const GroupArrays& arrays,
                             const tilewright_options* options, int info_mode, int* info) noexcept {
  return with_context(handle, [&](Context& context) {
    dispatch_at(dtype, options, [&]<class T, Location L>() {
      if (L == Location::device)
        throw Error(ErrorCode::unsupported, "location",
                    "location = device: grouped and variable batches run on the host only so far");
      const auto groups = to_groups<T>(arrays);
      gemm_grouped<T>(context, groups, to_options(options), to_info(info_mode, info));
    });
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

tilewright_status tilewright_create_with(const tilewright_context_options* given,
                                         tilewright_context** context) {
  if (context == nullptr) return TILEWRIGHT_INVALID_ARGUMENT;
  *context = new (std::nothrow) tilewright_context;
  if (*context == nullptr) return TILEWRIGHT_OUT_OF_MEMORY;
  return guarded((*context)->errors, [&] {
    ContextOptions options;
    if (given != nullptr && given->cpu != nullptr) options.cpu = given->cpu;
    if (given != nullptr && given->wisdom != nullptr) options.wisdom = given->wisdom;
    options.use_wisdom = given == nullptr || given->no_wisdom == 0;
    options.no_jit = given != nullptr && given->no_jit != 0;
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
                                  void* c, int64_t ldc, const tilewright_options* options) {
  return with_context(context, [&](Context& ctx) {
    dispatch_at(dtype, options, [&]<class T, Location L>() {
      const Shape s = to_shape(op_a, op_b, m, n, k);
      const MatrixView<const T, L> va{static_cast<const T*>(a), s.a_rows(), s.a_cols(), lda};
      const MatrixView<const T, L> vb{static_cast<const T*>(b), s.b_rows(), s.b_cols(), ldb};
      const MatrixView<T, L> vc{static_cast<T*>(c), m, n, ldc};
      gemm<T>(ctx, s.op_a, s.op_b, value_of<T>("alpha", alpha), va, vb, value_of<T>("beta", beta), vc,
              to_options(options));
    });
  });
}

tilewright_status tilewright_gemm_strided_batched(
    tilewright_context* context, tilewright_dtype dtype, tilewright_op op_a, tilewright_op op_b, int64_t m,
    int64_t n, int64_t k, const void* alpha, const void* a, int64_t lda, int64_t stride_a, const void* b,
    int64_t ldb, int64_t stride_b, const void* beta, void* c, int64_t ldc, int64_t stride_c,
    int64_t batch_count, const tilewright_options* options, tilewright_info_mode info_mode, int* info) {
  return with_context(context, [&](Context& ctx) {
    dispatch_at(dtype, options, [&]<class T, Location L>() {
      const Shape s = to_shape(op_a, op_b, m, n, k);
      const StridedBatch<const T, L> va{
          static_cast<const T*>(a), s.a_rows(), s.a_cols(), lda, stride_a, batch_count};
      const StridedBatch<const T, L> vb{
          static_cast<const T*>(b), s.b_rows(), s.b_cols(), ldb, stride_b, batch_count};
      const StridedBatch<T, L> vc{static_cast<T*>(c), m, n, ldc, stride_c, batch_count};
      gemm_batched<T>(ctx, s.op_a, s.op_b, value_of<T>("alpha", alpha), va, vb, value_of<T>("beta", beta), vc,
                      to_options(options), to_info(info_mode, info));
    });
  });
}

tilewright_status tilewright_gemm_pointer_batched(tilewright_context* context, tilewright_dtype dtype,
                                                  tilewright_op op_a, tilewright_op op_b, int64_t m,
                                                  int64_t n, int64_t k, const void* alpha,
                                                  const void* const* a, int64_t lda, const void* const* b,
                                                  int64_t ldb, const void* beta, void* const* c, int64_t ldc,
                                                  int64_t batch_count, const tilewright_options* options,
                                                  tilewright_info_mode info_mode, int* info) {
  return with_context(context, [&](Context& ctx) {
    dispatch_at(dtype, options, [&]<class T, Location L>() {
      const Shape s = to_shape(op_a, op_b, m, n, k);
      const PointerBatch<const T, L> va{reinterpret_cast<const T* const*>(a), s.a_rows(), s.a_cols(), lda,
                                        batch_count};
      const PointerBatch<const T, L> vb{reinterpret_cast<const T* const*>(b), s.b_rows(), s.b_cols(), ldb,
                                        batch_count};
      const PointerBatch<T, L> vc{reinterpret_cast<T* const*>(c), m, n, ldc, batch_count};
      gemm_batched<T>(ctx, s.op_a, s.op_b, value_of<T>("alpha", alpha), va, vb, value_of<T>("beta", beta), vc,
                      to_options(options), to_info(info_mode, info));
    });
  });
}

tilewright_status tilewright_gemm_interleaved_batched(tilewright_context* context, tilewright_dtype dtype,
                                                      tilewright_op op_a, tilewright_op op_b, int64_t m,
                                                      int64_t n, int64_t k, const void* alpha, const void* a,
                                                      int64_t lda, const void* b, int64_t ldb,
                                                      const void* beta, void* c, int64_t ldc, int64_t block,
                                                      int64_t batch_count, const tilewright_options* options,
                                                      tilewright_info_mode info_mode, int* info) {
  return with_context(context, [&](Context& ctx) {
    dispatch_at(dtype, options, [&]<class T, Location L>() {
      const Shape s = to_shape(op_a, op_b, m, n, k);
      const InterleavedBatch<const T, L> va{
          static_cast<const T*>(a), s.a_rows(), s.a_cols(), lda, block, batch_count};
      const InterleavedBatch<const T, L> vb{
          static_cast<const T*>(b), s.b_rows(), s.b_cols(), ldb, block, batch_count};
      const InterleavedBatch<T, L> vc{static_cast<T*>(c), m, n, ldc, block, batch_count};
      gemm_batched<T>(ctx, s.op_a, s.op_b, value_of<T>("alpha", alpha), va, vb, value_of<T>("beta", beta), vc,
                      to_options(options), to_info(info_mode, info));
    });
  });
}

tilewright_status tilewright_gemm_grouped_batched(
    tilewright_context* context, tilewright_dtype dtype, const tilewright_op* op_a, const tilewright_op* op_b,
    const int64_t* m, const int64_t* n, const int64_t* k, const void* alpha, const void* const* a,
    const int64_t* lda, const void* const* b, const int64_t* ldb, const void* beta, void* const* c,
    const int64_t* ldc, int64_t group_count, const int64_t* group_size, const tilewright_options* options,
    tilewright_info_mode info_mode, int* info) {
  if (group_size == nullptr && group_count > 0)
    return with_context(context, [](Context&) { refuse("group_size", "the array group_size is null"); });
  return run_groups(context, dtype,
                    {op_a, op_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, group_count, group_size},
                    options, info_mode, info);
}

tilewright_status tilewright_gemm_variable_batched(
    tilewright_context* context, tilewright_dtype dtype, const tilewright_op* op_a, const tilewright_op* op_b,
    const int64_t* m, const int64_t* n, const int64_t* k, const void* alpha, const void* const* a,
    const int64_t* lda, const void* const* b, const int64_t* ldb, const void* beta, void* const* c,
    const int64_t* ldc, int64_t batch_count, const tilewright_options* options,
    tilewright_info_mode info_mode, int* info) {
  return run_groups(context, dtype,
                    {op_a, op_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, batch_count, nullptr}, options,
                    info_mode, info);
}

tilewright_status tilewright_prepare(tilewright_context* context, const char* const* problems,
                                     int64_t problem_count, const tilewright_options* options) {
  return with_context(context, [&](Context& ctx) {
    if (problem_count < 0)
      refuse("problem_count", fmt::format("problem_count = {} is negative", problem_count));
    if (problems == nullptr && problem_count > 0) refuse("problems", "the array problems is null");
    std::vector<GemmProblem> parsed;
    for (int64_t i = 0; i < problem_count; ++i) {
      if (problems[i] == nullptr) refuse("problems", fmt::format("problems[{}] is null", i));
      parsed.push_back(parse_problem(problems[i]));
    }
    prepare(ctx, parsed, to_options(options));
  });
}

tilewright_status tilewright_plan_create(tilewright_context* context, const char* problem,
                                         const tilewright_options* options, tilewright_plan** plan) {
  if (plan != nullptr) *plan = nullptr;
  return with_context(context, [&](Context& ctx) {
    if (problem == nullptr) refuse("problem", "problem is null");
    if (plan == nullptr) refuse("plan", "plan is null");
    GemmPlan made = tilewright::plan(ctx, parse_problem(problem), to_options(options));
    std::string explanation = made.explain();
    *plan = new tilewright_plan{std::move(made), std::move(explanation), {}};
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
    dispatch(p.dtype, [&]<class T>() {
      const BatchScalar<T> x(value_of<T>("alpha", alpha)), y(value_of<T>("beta", beta));
      if (p.layout == Layout::pointer)
        plan->plan.run<T>(x, static_cast<const T* const*>(a), static_cast<const T* const*>(b), y,
                          static_cast<T* const*>(c), stream);
      else
        plan->plan.run<T>(x, static_cast<const T*>(a), static_cast<const T*>(b), y, static_cast<T*>(c),
                          stream);
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
