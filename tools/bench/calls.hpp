// Turns a case into calls of the public interface, on operands in host or in device memory. The returned call
// is run millions of times, so addresses come from a template and not through another function.
#pragma once

#include <functional>
#include <memory>
#include <span>

#include "bench/case.hpp"
#include "core/dispatch.hpp"
#include "core/problem.hpp"
#include "measure/typed_values.hpp"

namespace tilewright::bench {

using BatchCall = std::function<void(std::int64_t batch)>;

template <class T>
const T* const* addresses(const void* array) {
  return static_cast<const T* const*>(array);
}

// A plan with the case's alpha and beta; `at`(batch) returns operands with the stream to queue on.
template <class At>
BatchCall plan_call(std::shared_ptr<const GemmPlan> made, const Case& c, At at) {
  return dispatch(made->problem().dtype, [&]<class T>() -> BatchCall {
    const T alpha = value_from<T>(c.alpha, 0), beta = value_from<T>(c.beta, 0);
    if (made->problem().layout == Layout::pointer)
      return [made, alpha, beta, at](std::int64_t batch) {
        const Operands& o = at(batch);
        made->run<T>(alpha, addresses<T>(o.a), addresses<T>(o.b), beta, static_cast<T* const*>(o.c),
                     o.stream);
      };
    return [made, alpha, beta, at](std::int64_t batch) {
      const Operands& o = at(batch);
      made->run<T>(alpha, static_cast<const T*>(o.a), static_cast<const T*>(o.b), beta, static_cast<T*>(o.c),
                   o.stream);
    };
  });
}

// Calls the whole batch, which lies in memory like a pointer batch, as one group.
template <Location L, class At>
BatchCall group_call(Context& context, const Case& c, const GemmOptions& options, At at) {
  return dispatch(c.problem.dtype, [&]<class T>() -> BatchCall {
    const GemmProblem& p = c.problem;
    GemmGroup<T, L> group;
    group.op_a = p.op_a, group.op_b = p.op_b;
    group.m = p.m, group.n = p.n, group.k = p.k;
    group.lda = p.lda, group.ldb = p.ldb, group.ldc = p.ldc;
    group.alpha = value_from<T>(c.alpha, 0), group.beta = value_from<T>(c.beta, 0);
    group.count = p.batch_count;
    return [&context, group, options, at](std::int64_t batch) {
      const Operands& o = at(batch);
      GemmGroup<T, L> one = group;
      one.a = addresses<T>(o.a), one.b = addresses<T>(o.b), one.c = static_cast<T* const*>(o.c);
      const std::span<const GemmGroup<T, L>> groups(&one, 1);
      if constexpr (L == Location::host)
        gemm_grouped<T>(context, groups, options);
      else
        gemm_grouped<T, L>(context, groups, options);
    };
  });
}

}  // namespace tilewright::bench
