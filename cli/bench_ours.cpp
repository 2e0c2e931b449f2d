// Binding our public calls to prepared batches.
#include "bench_ours.hpp"

#include "cblas_library.hpp"
#include "core/dispatch.hpp"

namespace tilewright::cli {
namespace {

template <class T>
const T* const* pointers(const void* array) {
  return static_cast<const T* const*>(array);
}

template <class T>
Ours with_plan(Context& context, const BenchCase& bench_case, const GemmOptions& options,
               const std::vector<Operands>& batches) {
  auto made = std::make_shared<const GemmPlan>(plan(context, bench_case.problem, options));
  const T alpha = peers::scalar_as<T>(bench_case.alpha);
  const T beta = peers::scalar_as<T>(bench_case.beta);
  Ours ours;
  ours.plan = made;
  if (bench_case.problem.layout == Layout::pointer)
    ours.run = [made, alpha, beta, &batches](std::int64_t batch) {
      const Operands& o = batches[static_cast<std::size_t>(batch)];
      made->run<T>(alpha, pointers<T>(o.a), pointers<T>(o.b), beta, static_cast<T* const*>(o.c));
    };
  else
    ours.run = [made, alpha, beta, &batches](std::int64_t batch) {
      const Operands& o = batches[static_cast<std::size_t>(batch)];
      made->run<T>(alpha, static_cast<const T*>(o.a), static_cast<const T*>(o.b), beta, static_cast<T*>(o.c));
    };
  return ours;
}

// The whole batch as one group.
template <class T>
Ours with_groups(Context& context, const BenchCase& bench_case, const GemmOptions& options,
                 const std::vector<Operands>& batches) {
  const GemmProblem& p = bench_case.problem;
  GemmGroup<T> group;
  group.op_a = p.op_a, group.op_b = p.op_b;
  group.m = p.m, group.n = p.n, group.k = p.k;
  group.lda = p.lda, group.ldb = p.ldb, group.ldc = p.ldc;
  group.alpha = peers::scalar_as<T>(bench_case.alpha);
  group.beta = peers::scalar_as<T>(bench_case.beta);
  group.count = p.batch_count;
  Ours ours;
  ours.run = [&context, group, options, &batches](std::int64_t batch) {
    const Operands& o = batches[static_cast<std::size_t>(batch)];
    GemmGroup<T> one = group;
    one.a = pointers<T>(o.a);
    one.b = pointers<T>(o.b);
    one.c = static_cast<T* const*>(o.c);
    gemm_grouped<T>(context, std::span<const GemmGroup<T>>(&one, 1), options);
  };
  return ours;
}

// Every problem described on its own; the descriptions are made beforehand, as a caller would have them.
template <class T>
Ours with_items(Context& context, const BenchCase& bench_case, const GemmOptions& options,
                const std::vector<Operands>& batches) {
  const GemmProblem& p = bench_case.problem;
  auto items = std::make_shared<std::vector<GemmItem<T>>>();
  items->reserve(batches.size() * static_cast<std::size_t>(p.batch_count));
  for (const Operands& o : batches)
    for (std::int64_t i = 0; i < p.batch_count; ++i)
      items->push_back({p.op_a, p.op_b, p.m, p.n, p.k, peers::scalar_as<T>(bench_case.alpha),
                        pointers<T>(o.a)[i], p.lda, pointers<T>(o.b)[i], p.ldb,
                        peers::scalar_as<T>(bench_case.beta), static_cast<T* const*>(o.c)[i], p.ldc});
  Ours ours;
  ours.run = [&context, items, options, count = p.batch_count](std::int64_t batch) {
    gemm_variable<T>(context, std::span<const GemmItem<T>>(items->data() + batch * count, std::size_t(count)),
                     options);
  };
  return ours;
}

}  // namespace

Ours prepare_ours(Context& context, const BenchCase& bench_case, const GemmOptions& options,
                  const std::vector<Operands>& batches) {
  return dispatch(bench_case.problem.dtype, [&]<class T>() {
    if (bench_case.layout == Layout::grouped) return with_groups<T>(context, bench_case, options, batches);
    if (bench_case.layout == Layout::variable) return with_items<T>(context, bench_case, options, batches);
    return with_plan<T>(context, bench_case, options, batches);
  });
}

}  // namespace tilewright::cli
