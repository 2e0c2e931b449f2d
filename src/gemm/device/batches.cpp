// All that can fail precedes the first launch: faults, plans and all operands; then codes and launches.
#include "gemm/device/batches.hpp"

#include <algorithm>

#include "core/dispatch.hpp"
#include "core/refuse.hpp"
#include "gemm/cpu_small/groups.hpp"
#include "gemm/device/operands.hpp"
#include "gemm/parallel.hpp"
#include "gemm/plan.hpp"

namespace tilewright {
namespace {

template <class T>
void require(const char* name, const T* array) {
  if (array == nullptr) refuse_argument(name, fmt::format("the array {} is null", name));
}

// Throws Error for faults that the host can see.
template <class T>
void check(const VariableBatch<T>& x) {
  refuse_negative("max_m", x.max_m);
  refuse_negative("max_n", x.max_n);
  refuse_negative("max_k", x.max_k);
  refuse_negative("count", x.count);
  if (x.count == 0) return;
  require("m", x.m), require("n", x.n), require("k", x.k);
  require("a", x.a), require("lda", x.lda), require("b", x.b), require("ldb", x.ldb);
  require("c", x.c), require("ldc", x.ldc);
}

// Sizes of 0 have no kernel; one for a single element finds that there is nothing to do.
template <class T>
GemmProblem problem_of(const VariableBatch<T>& x) {
  GemmProblem p;
  p.dtype = dtype_of<T>;
  p.location = Location::device;
  p.op_a = x.op_a, p.op_b = x.op_b;
  p.m = std::max<std::int64_t>(1, x.max_m);
  p.n = std::max<std::int64_t>(1, x.max_n);
  p.k = std::max<std::int64_t>(1, x.max_k);
  p.layout = Layout::variable;
  p.batch_count = x.count;
  p.alpha = x.alpha.values != nullptr ? Scalar::per_problem : scalar_class(x.alpha.value);
  p.beta = x.beta.values != nullptr ? Scalar::per_problem : scalar_class(x.beta.value);
  return packed(p);
}

template <class T>
void set_scalar(const BatchScalar<T, Location::device>& scalar, const void*& value, std::int64_t& stride) {
  value = scalar.values == nullptr ? &scalar.value : scalar.values;
  stride = scalar.values == nullptr ? 0 : 1;
}

// A group that has something to compute.
struct GroupCall {
  std::size_t group = 0;
  std::int64_t first = 0;  // of its problems
  std::shared_ptr<const GemmPlan::Impl> plan = nullptr;
};

// Calls f() and adds to its Error which group it is about.
template <class F>
void name_group(bool several_groups, const GroupCall& call, F&& f) {
  try {
    f();
  } catch (const Error& error) {
    if (!several_groups) throw;
    throw Error(error.code(), error.argument(),
                fmt::format("{}: {}", group_name(std::int64_t(call.group), call.first), error.what()),
                call.first);
  }
}

template <class T>
Operands operands_of(const GemmGroup<T, Location::device>& group, const GemmOptions& options) {
  return {group.a, group.b, const_cast<T**>(group.c), &group.alpha, &group.beta, 0, 0, options.queue.stream};
}

}  // namespace

std::shared_ptr<const GemmPlan::Impl> find_device_plan(Context::Impl& context, const GemmProblem& problem,
                                                       const GemmOptions& options, bool reports) {
  auto plan = find_plan(context, problem, options);
  const bool computes = std::min({problem.m, problem.n, problem.batch_count}) > 0;
  if (reports && computes && has_pointers(problem) && !plan->runner->reports())
    throw Error(ErrorCode::unsupported, "info",
                fmt::format("info is not supported by {}, which runs {}: only kernels for sizes up to 64 or "
                            "for values per problem report bad pointers in device memory",
                            plan->candidate, to_string(problem)));
  return plan;
}

void run_device_batch(Context::Impl& context, const GemmProblem& problem, Operands& o,
                      const GemmOptions& options, const DeviceReport& report) {
  const auto plan = find_device_plan(context, problem, options, report.reports());
  check_call(*plan, o);
  report.write();
  report.direct(o, 0, 0);
  execute_checked(*plan, o);
}

template <class T>
void run_device_groups(Context::Impl& context, std::span<const GemmGroup<T, Location::device>> groups,
                       const GemmOptions& options, const BatchInfo& info, const ArgumentNames& names) {
  check_call_options(context, options, Location::device);
  const auto firsts = first_indices(groups);
  DeviceReport report(context, options, info, firsts.back(), std::int64_t(groups.size()));
  const bool several = groups.size() > 1;
  std::vector<GroupCall> calls;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const GemmProblem p = problem_of(groups[g]);
    if (const auto fault = group_fault(groups[g], p, names))
      report.group(firsts[g], groups[g].count, std::int64_t(g), *fault);
    else if (std::min({p.m, p.n, p.batch_count}) > 0)
      calls.push_back({g, firsts[g]});
  }
  GemmOptions stated = options;
  stated.align_bytes = int(sizeof(T));
  // Missing kernels are compiled in parallel.
  parallel_each(allowed_threads(options.threads), std::int64_t(calls.size()), [&](std::int64_t i) {
    GroupCall& call = calls[std::size_t(i)];
    name_group(several, call, [&] {
      call.plan = find_device_plan(context, problem_of(groups[call.group]), stated, report.reports());
    });
  });
  for (const GroupCall& call : calls)
    name_group(several, call, [&] { check_call(*call.plan, operands_of(groups[call.group], options)); });
  report.write();
  for (const GroupCall& call : calls) {
    Operands o = operands_of(groups[call.group], options);
    report.direct(o, call.first, std::int64_t(call.group));
    execute_checked(*call.plan, o);
  }
}

template <class T>
void run_device_variable(Context::Impl& context, const VariableBatch<T>& x, const GemmOptions& options,
                         const BatchInfo& info) {
  check_call_options(context, options, Location::device);
  check(x);
  DeviceReport report(context, options, info, x.count, 1);
  GemmOptions stated = options;
  stated.align_bytes = int(sizeof(T));
  if (x.count == 0) return report.write();
  Operands o{x.a, x.b, const_cast<T**>(x.c)};
  set_scalar(x.alpha, o.alpha, o.alpha_stride);
  set_scalar(x.beta, o.beta, o.beta_stride);
  o.stream = options.queue.stream;
  o.sizes = {x.m, x.n, x.k, x.lda, x.ldb, x.ldc};
  run_device_batch(context, problem_of(x), o, stated, report);
}

#define TILEWRIGHT_INSTANTIATE(T)                                                                  \
  template void run_device_groups(Context::Impl&, std::span<const GemmGroup<T, Location::device>>, \
                                  const GemmOptions&, const BatchInfo&, const ArgumentNames&);     \
  template void run_device_variable(Context::Impl&, const VariableBatch<T>&, const GemmOptions&,   \
                                    const BatchInfo&);
TILEWRIGHT_FOR_TYPES(TILEWRIGHT_INSTANTIATE)
#undef TILEWRIGHT_INSTANTIATE

}  // namespace tilewright
