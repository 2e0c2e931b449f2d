// Batches of different shapes: checks every group, and runs small ones in their order, with one look-up for a
// run of equal shapes. Others of one shape are gathered into a pointer batch, which a plan runs. A variable
// batch is groups of one problem.
#pragma once

#include <span>
#include <vector>

#include "core/product/faults.hpp"
#include "gemm/context_impl.hpp"
#include "gemm/operand.hpp"
#include "gemm/report.hpp"

namespace tilewright {

// The group as a pointer batch.
template <class T, Location L>
GemmProblem problem_of(const GemmGroup<T, L>& group) {
  GemmProblem p;
  p.dtype = dtype_of<T>;
  p.location = L;
  p.op_a = group.op_a;
  p.op_b = group.op_b;
  p.m = group.m;
  p.n = group.n;
  p.k = group.k;
  p.lda = group.lda;
  p.ldb = group.ldb;
  p.ldc = group.ldc;
  p.layout = Layout::pointer;
  p.batch_count = group.count;
  p.alpha = scalar_class(group.alpha);
  p.beta = scalar_class(group.beta);
  return p;
}

// The number of each group's first problem; one more entry holds the number of all problems. Throws
// Error(invalid_argument) for a negative count and for more problems than 64 bits count.
template <class T, Location L>
std::vector<std::int64_t> first_indices(std::span<const GemmGroup<T, L>> groups) {
  std::vector<std::int64_t> firsts(1, 0);
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const std::int64_t count = groups[g].count;
    if (count < 0)
      throw Error(ErrorCode::invalid_argument, "count",
                  fmt::format("group {}: count = {} is negative", g, count));
    std::int64_t next = 0;
    if (__builtin_add_overflow(firsts.back(), count, &next))
      throw Error(ErrorCode::invalid_argument, "count", fmt::format("group {}: too many problems in all", g));
    firsts.push_back(next);
  }
  return firsts;
}

// The fault of a group's description or of its arrays of pointers, none of which is read.
template <class T, Location L>
std::optional<Fault> group_fault(const GemmGroup<T, L>& group, const GemmProblem& p,
                                 const ArgumentNames& names) {
  if (auto fault = find_fault(p, names)) return fault;
  if (p.m == 0 || p.n == 0 || group.count == 0) return {};
  return address_fault({group.a, group.b, group.c}, reads_ab(p), names);
}

template <class T>
void run_groups(Context::Impl& context, std::span<const GemmGroup<T>> groups, const GemmOptions& options,
                const BatchInfo& info, CountedIn counted = CountedIn::groups,
                const ArgumentNames& names = argument_names);
template <class T>
void run_items(Context::Impl& context, std::span<const GemmItem<T>> items, const GemmOptions& options,
               const BatchInfo& info);

}  // namespace tilewright
