// Batches of shapes: checks all groups, runs small ones in order, one lookup per run of equal shapes. Others
// are gathered by shape into pointer batches with plans. A variable batch is groups of one problem.
#pragma once

#include <span>
#include <vector>

#include "core/product/faults.hpp"
#include "core/refuse.hpp"
#include "gemm/context_impl.hpp"
#include "gemm/operand.hpp"
#include "gemm/report.hpp"

namespace tilewright {

// Returns the group as a pointer batch.
template <class T, Location L>
GemmProblem problem_of(const GemmGroup<T, L>& group) {
  return {.dtype = dtype_of<T>,
          .op_a = group.op_a,
          .op_b = group.op_b,
          .m = group.m,
          .n = group.n,
          .k = group.k,
          .lda = group.lda,
          .ldb = group.ldb,
          .ldc = group.ldc,
          .layout = Layout::pointer,
          .batch_count = group.count,
          .alpha = scalar_class(group.alpha),
          .beta = scalar_class(group.beta),
          .location = L};
}

// Returns the number of each group's first problem, and then that of all problems. Throws
// Error(invalid_argument) for a negative count and if the sum exceeds 64 bits.
template <class T, Location L>
std::vector<std::int64_t> first_indices(std::span<const GemmGroup<T, L>> groups) {
  std::vector<std::int64_t> firsts(1, 0);
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const std::int64_t count = groups[g].count;
    if (count < 0) refuse_argument("count", fmt::format("group {}: count = {} is negative", g, count));
    std::int64_t next = 0;
    if (__builtin_add_overflow(firsts.back(), count, &next))
      refuse_argument("count", fmt::format("group {}: too many problems in total", g));
    firsts.push_back(next);
  }
  return firsts;
}

// Returns the fault of a group's description or of its arrays of pointers, which are not read.
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
