// Everything about pointer batches that needs a look at each pointer.
#include "gemm/pointers.hpp"

#include <algorithm>

#include "core/dispatch.hpp"
#include "gemm/operand.hpp"

namespace tilewright {
namespace {

const void* const* pointers(const void* operand) { return static_cast<const void* const*>(operand); }

template <class T>
std::vector<BadProblem> find_bad_addresses(const GemmProblem& p, const Operands& o,
                                           const ArgumentNames& names) {
  std::vector<BadProblem> bad;
  const bool may_read_ab = reads_ab(p);
  for (std::int64_t i = 0; i < p.batch_count; ++i) {
    const Addresses at{may_read_ab ? pointers(o.a)[i] : nullptr, may_read_ab ? pointers(o.b)[i] : nullptr,
                       pointers(o.c)[i]};
    if (at.are_plainly_right(may_read_ab)) continue;
    const bool reads = may_read_ab && scalar_of<T>(p.alpha, o.alpha, o.alpha_stride, i) != T(0);
    if (const auto fault = address_fault(at, reads, names)) bad.push_back({i, *fault});
  }
  return bad;
}

void add_overlaps(const GemmProblem& p, const Operands& o, const ArgumentNames& names,
                  std::vector<BadProblem>& bad) {
  const std::int64_t size = size_bytes(p.dtype);
  std::vector<Extent> extents;
  std::size_t next_bad = 0;
  for (std::int64_t i = 0; i < p.batch_count; ++i) {
    if (next_bad < bad.size() && bad[next_bad].index == i)
      ++next_bad;
    else
      extents.push_back({static_cast<const char*>(pointers(o.c)[i]), p.m * size, p.ldc * size, p.n, i});
  }
  for (const Overlap& overlap : find_overlaps(extents))
    bad.push_back({overlap.problem_index, overlap_fault(overlap, names)});
  std::sort(bad.begin(), bad.end(),
            [](const BadProblem& x, const BadProblem& y) { return x.index < y.index; });
}

}  // namespace

Fault overlap_fault(const Overlap& overlap, const ArgumentNames& names) {
  return {names.c.matrix, names.c.number,
          fmt::format("{} overlaps that of problem {}", names.c.matrix, overlap.other_index)};
}

std::vector<BadProblem> find_bad_problems(const GemmProblem& p, const Operands& operands, bool checked,
                                          const ArgumentNames& names) {
  if (p.m == 0 || p.n == 0 || p.batch_count == 0) return {};
  auto bad = dispatch(p.dtype, [&]<class T>() { return find_bad_addresses<T>(p, operands, names); });
  if (checked) add_overlaps(p, operands, names, bad);
  return bad;
}

GoodProblems::GoodProblems(const GemmProblem& problem, const Operands& operands,
                           const std::vector<BadProblem>& bad)
    : problem_(problem), source_(operands) {
  const std::int64_t size = size_bytes(problem.dtype);
  const auto copy = [&](const void* values, std::int64_t stride, std::int64_t i, std::vector<char>& to) {
    if (stride == 0) return;
    const char* value = static_cast<const char*>(values) + i * size;
    to.insert(to.end(), value, value + size);
  };
  const bool reads = reads_ab(problem);
  std::size_t next_bad = 0;
  for (std::int64_t i = 0; i < problem.batch_count; ++i) {
    if (next_bad < bad.size() && bad[next_bad].index == i) {
      ++next_bad;
      continue;
    }
    if (reads) a_.push_back(pointers(operands.a)[i]), b_.push_back(pointers(operands.b)[i]);
    c_.push_back(pointers(operands.c)[i]);
    copy(operands.alpha, operands.alpha_stride, i, alpha_);
    copy(operands.beta, operands.beta_stride, i, beta_);
  }
  problem_.batch_count = std::int64_t(c_.size());
}

Operands GoodProblems::operands() const {
  Operands o = source_;
  o.a = a_.data();
  o.b = b_.data();
  o.c = const_cast<const void**>(c_.data());
  if (o.alpha_stride != 0) o.alpha = alpha_.data();
  if (o.beta_stride != 0) o.beta = beta_.data();
  return o;
}

}  // namespace tilewright
