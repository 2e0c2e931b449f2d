// Turns guarded operands into the views of the public API. Each layout has one function, in this file alone.
#include "support/call.hpp"

#include <fmt/format.h>

#include "core/dispatch.hpp"
#include "support/trap.hpp"

namespace tilewright::testing {
namespace {

template <class T>
BatchScalar<T> scalar(const T* values, T value) {
  return values != nullptr ? BatchScalar<T>(values) : BatchScalar<T>(value);
}
template <class T>
BatchScalar<T> alpha_of(const Batch<T>& batch) {
  return scalar(batch.alphas(), batch.alphas() == nullptr ? batch.alpha(0) : T(1));
}
template <class T>
BatchScalar<T> beta_of(const Batch<T>& batch) {
  return scalar(batch.betas(), batch.betas() == nullptr ? batch.beta(0) : T(1));
}

template <class T>
void run_single(Context& context, const Batch<T>& x, const GemmOptions& options) {
  const GemmProblem& q = x.problem();
  gemm<T>(context, q.op_a, q.op_b, x.alpha(0), {x.a().base(), q.a_rows(), q.a_cols(), q.lda},
          {x.b().base(), q.b_rows(), q.b_cols(), q.ldb}, x.beta(0), {x.c().base(), q.m, q.n, q.ldc}, options);
}

template <class T>
void run_batched(Context& context, const Batch<T>& x, const GemmOptions& options) {
  const GemmProblem& q = x.problem();
  const std::int64_t count = q.batch_count;
  const auto call = [&](auto a, auto b, auto c) {
    gemm_batched<T>(context, q.op_a, q.op_b, alpha_of(x), a, b, beta_of(x), c, options);
  };
  if (q.layout == Layout::strided) {
    const std::int64_t outer = q.outer_count, outermost = q.outermost_count;
    const std::int64_t inner = count / (outer * outermost);
    call(StridedBatch<const T>{{x.a().base(), q.a_rows(), q.a_cols(), q.lda}, q.stride_a, inner}
             .repeat(q.outer_a, outer)
             .repeat(q.outermost_a, outermost),
         StridedBatch<const T>{{x.b().base(), q.b_rows(), q.b_cols(), q.ldb}, q.stride_b, inner}
             .repeat(q.outer_b, outer)
             .repeat(q.outermost_b, outermost),
         StridedBatch<T>{{x.c().base(), q.m, q.n, q.ldc}, q.stride_c, inner}
             .repeat(q.outer_c, outer)
             .repeat(q.outermost_c, outermost));
  } else if (q.layout == Layout::pointer) {
    call(PointerBatch<const T>{x.a().pointers(), q.a_rows(), q.a_cols(), q.lda, count},
         PointerBatch<const T>{x.b().pointers(), q.b_rows(), q.b_cols(), q.ldb, count},
         PointerBatch<T>{x.c().pointers(), q.m, q.n, q.ldc, count});
  } else {
    const std::int64_t block = x.c().row_step();
    call(InterleavedBatch<const T>{x.a().base(), q.a_rows(), q.a_cols(), q.lda, block, count},
         InterleavedBatch<const T>{x.b().base(), q.b_rows(), q.b_cols(), q.ldb, block, count},
         InterleavedBatch<T>{x.c().base(), q.m, q.n, q.ldc, block, count});
  }
}

template <class T>
void run_plan(Context& context, const Batch<T>& x, const GemmOptions& options) {
  const GemmPlan made = plan(context, x.problem(), options);
  if (x.problem().layout == Layout::pointer)
    made.run<T>(alpha_of(x), x.a().pointers(), x.b().pointers(), beta_of(x), x.c().pointers());
  else
    made.run<T>(alpha_of(x), x.a().base(), x.b().base(), beta_of(x), x.c().base());
}

template <class T>
void run_groups(Context& context, const std::vector<Batch<T>>& batches, const GemmOptions& options) {
  std::vector<GemmGroup<T>> groups;
  for (const Batch<T>& x : batches) {
    const GemmProblem& q = x.problem();
    groups.push_back({q.op_a, q.op_b, q.m, q.n, q.k, x.alpha(0), x.a().pointers(), q.lda, x.b().pointers(),
                      q.ldb, x.beta(0), x.c().pointers(), q.ldc, q.batch_count});
  }
  gemm_grouped<T>(context, std::span<const GemmGroup<T>>(groups), options);
}

// The shapes alternate, so that neighbours differ.
template <class T>
void run_items(Context& context, const std::vector<Batch<T>>& batches, const GemmOptions& options) {
  std::vector<GemmItem<T>> items;
  std::int64_t longest = 0;
  for (const Batch<T>& x : batches) longest = std::max(longest, x.problem().batch_count);
  for (std::int64_t p = 0; p < longest; ++p)
    for (const Batch<T>& x : batches) {
      const GemmProblem& q = x.problem();
      if (p >= q.batch_count) continue;
      items.push_back({q.op_a, q.op_b, q.m, q.n, q.k, x.alpha(p), x.a().pointers()[p], q.lda,
                       x.b().pointers()[p], q.ldb, x.beta(p), x.c().pointers()[p], q.ldc});
    }
  gemm_variable<T>(context, std::span<const GemmItem<T>>(items), options);
}

template <class T>
void run(Context& context, const Call& call, const std::vector<Batch<T>>& batches) {
  if (call.prepared) {
    std::vector<GemmProblem> problems;
    for (const Batch<T>& x : batches) problems.push_back(x.problem());
    prepare(context, problems, call.options);
  }
  if (call.layout == Layout::grouped) return run_groups(context, batches, call.options);
  if (call.layout == Layout::variable) return run_items(context, batches, call.options);
  if (call.through_plan) return run_plan(context, batches[0], call.options);
  if (call.layout == Layout::single) return run_single(context, batches[0], call.options);
  run_batched(context, batches[0], call.options);
}

template <class T>
std::string run_and_check_as(Context& context, const Call& call) {
  std::vector<Batch<T>> batches;
  for (const Case& part : call.parts) batches.emplace_back(part);
  try {
    if (const auto trap = run_trapped(to_string(call), [&] { run(context, call, batches); })) {
      std::string where;
      for (const Batch<T>& x : batches) where += x.locate(trap->address);
      return to_string(*trap) + (where.empty() ? "" : ", " + where);
    }
  } catch (const Error& error) {
    return fmt::format("threw Error({}, '{}'): {}", static_cast<int>(error.code()), error.argument(),
                       error.what());
  }
  std::string wrong;
  for (std::size_t i = 0; i < batches.size(); ++i)
    if (const std::string text = batches[i].check(); !text.empty())
      wrong += batches.size() == 1 ? text : fmt::format("part {}: {}\n    ", i, text);
  return wrong;
}

}  // namespace

std::string to_string(const Call& call) {
  std::string text =
      fmt::format("{}{}{}, threads {}:", call.prepared ? "prepared " : "",
                  call.through_plan ? "plan of " : "", to_string(call.layout), call.options.threads);
  for (const Case& part : call.parts) text += fmt::format("\n    {}", to_string(part));
  return text;
}

Call make_call(const Choices& choices) {
  Call call;
  call.layout = choices.layout;
  if (choices.layout != Layout::grouped && choices.layout != Layout::variable) {
    call.parts.push_back(make_case(choices));
    return call;
  }
  Choices x = choices;
  x.layout = Layout::pointer;
  if (choices.layout == Layout::grouped) {  // alpha and beta belong to the group
    const auto of_group = [](ScalarChoice& choice) {
      if (choice >= ScalarChoice::per_problem) choice = ScalarChoice::general;
    };
    of_group(x.alpha);
    of_group(x.beta);
  }
  const auto [m, n, k] = choices.size;
  call.parts.push_back(make_case(x));
  x.size = {k, m, n};
  std::swap(x.op_a, x.op_b);
  std::swap(x.alpha, x.beta);
  x.batch_count = 1 + choices.batch_count % 3;
  ++x.seed;
  call.parts.push_back(make_case(x));
  x.size = {n, k, m};
  x.op_a = choices.op_b == Op::none ? Op::trans : Op::none;
  x.batch_count = 2;
  ++x.seed;
  call.parts.push_back(make_case(x));
  x.size = {m, 0, k};
  call.parts.push_back(make_case(x));
  return call;
}

std::string run_and_check(Context& context, const Call& call) {
  return dispatch(call.parts.at(0).problem.dtype,
                  [&]<class T>() { return run_and_check_as<T>(context, call); });
}

}  // namespace tilewright::testing
