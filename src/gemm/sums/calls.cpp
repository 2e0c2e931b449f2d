// Checking costs one pass over each list; what is wrong is looked for only where something is.
#include "gemm/sums/calls.hpp"

#include <algorithm>
#include <array>
#include <unordered_set>

#include "gemm/overlap.hpp"
#include "gemm/parallel.hpp"
#include "gemm/plan.hpp"
#include "gemm/run/host.hpp"
#include "gemm/small/stack_bytes.hpp"

namespace tilewright {
namespace {

constexpr std::int64_t largest_bytes = std::int64_t(1) << 62;

// The largest offset of a matrix that begins and ends within 62 bits of bytes.
std::uint64_t most_offset(std::int64_t ld, std::int64_t cols, std::int64_t size) {
  return std::uint64_t(largest_bytes / size - ld * cols);
}

std::optional<Fault> offset_fault(const char* name, int number, std::int64_t offset, std::uint64_t most) {
  if (std::uint64_t(offset) <= most) return {};
  return Fault{name, number,
               offset < 0 ? fmt::format("the offset {} of {} is negative", offset, name)
                          : fmt::format("{} at offset {} ends behind 2^62 bytes", name, offset)};
}

std::optional<Fault> offsets_fault(const SumList& list, const StackOffsets& x) {
  const GemmProblem& p = list.problem;
  const std::int64_t size = size_bytes(p.dtype);
  if (list.reads_ab()) {
    if (auto fault = offset_fault("a", blas_number::a, x.a, most_offset(p.lda, p.a_cols(), size)))
      return fault;
    if (auto fault = offset_fault("b", blas_number::b, x.b, most_offset(p.ldb, p.b_cols(), size)))
      return fault;
  }
  return offset_fault("c", blas_number::c, x.c, most_offset(p.ldc, p.n, size));
}

std::optional<Fault> address_fault(const SumList& list, const SumProduct& at) {
  if (list.reads_ab() && at.a == nullptr) return Fault{"a", blas_number::a, "a is null"};
  if (list.reads_ab() && at.b == nullptr) return Fault{"b", blas_number::b, "b is null"};
  if (at.c == nullptr) return Fault{"c", blas_number::c, "c is null"};
  if (list.reads_ab() && (at.c == at.a || at.c == at.b))
    return Fault{"c", blas_number::c, "c is a or b: " + std::string(in_place_reason)};
  return {};
}

// Whether all offsets are small enough not to be looked at one by one.
bool are_plain(const SumList& list) {
  constexpr int bits = 40;
  const GemmProblem& p = list.problem;
  const std::int64_t most = std::int64_t(1) << bits;
  if (std::max({p.lda, p.ldb, p.ldc}) > most / gemm_small_cpu_limit) return false;
  std::int64_t all = 0;
  for (std::int64_t i = 0; i < list.count(); ++i)
    all |= list.offsets[i].c | (list.reads_ab() ? list.offsets[i].a | list.offsets[i].b : 0);
  return std::uint64_t(all) >> bits == 0 && std::max({p.m, p.n, p.k}) <= gemm_small_cpu_limit;
}

std::optional<SumFault> product_fault(const SumList& list, SumExtent& extent) {
  const bool plain = list.offsets == nullptr || are_plain(list);
  for (std::int64_t i = 0; !plain && i < list.count(); ++i)
    if (auto fault = offsets_fault(list, list.offsets[i])) return SumFault{*fault, i};
  return with_products(list, [&](auto&& at) -> std::optional<SumFault> {
    const auto number = [](const void* address) { return reinterpret_cast<std::uintptr_t>(address); };
    const SumProduct first = at(0);
    std::array low{number(first.a), number(first.b), number(first.c)}, high = low;
    bool bad = false, ascends = true;
    std::uintptr_t last = 0;
    for (std::int64_t i = 0; i < list.count(); ++i) {
      const SumProduct x = at(i);
      const std::array all{number(x.a), number(x.b), number(x.c)};
      for (std::size_t j = 0; j < 3; ++j)
        low[j] = std::min(low[j], all[j]), high[j] = std::max(high[j], all[j]);
      bad |= all[2] == all[0] || all[2] == all[1];
      ascends &= all[2] >= last;
      last = all[2];
    }
    extent.ascends = ascends;
    for (std::size_t j = 0; j < 3; ++j) extent.bytes[j] = double(high[j] - low[j]);
    bad = low[2] == 0 || (list.reads_ab() && (bad || low[0] == 0 || low[1] == 0));
    for (std::int64_t i = 0; bad && i < list.count(); ++i)
      if (auto fault = address_fault(list, at(i))) return SumFault{*fault, i};
    return {};
  });
}

void check_overlaps(std::span<const SumList> lists) {
  std::vector<Extent> extents;
  std::vector<std::pair<std::size_t, std::int64_t>> places;
  std::unordered_set<const void*> seen;
  for (std::size_t s = 0; s < lists.size(); ++s) {
    if (!lists[s].writes()) continue;
    const GemmProblem& p = lists[s].problem;
    const std::int64_t size = size_bytes(p.dtype);
    with_products(lists[s], [&](auto&& at) {
      for (std::int64_t i = 0; i < lists[s].count(); ++i) {
        const void* const c = at(i).c;
        if (!seen.insert(c).second) continue;
        extents.push_back(
            {static_cast<const char*>(c), p.m * size, p.ldc * size, p.n, std::int64_t(places.size())});
        places.emplace_back(s, i);
      }
    });
  }
  const auto name = [&](std::int64_t place) {
    return fmt::format("that of product {} of stack {}", places[std::size_t(place)].second,
                       places[std::size_t(place)].first);
  };
  for (const Overlap& overlap : find_overlaps(extents))
    throw Error(
        ErrorCode::invalid_argument, "c",
        fmt::format("c overlaps in part: {} and {}", name(overlap.problem_index), name(overlap.other_index)),
        places[std::size_t(overlap.problem_index)].second);
}

// As plans see the stack: how many products it has, and how many a C gets, is no matter of theirs.
GemmProblem as_planned(GemmProblem p, Residency residency) {
  constexpr std::int64_t some_products = 1024, some_run = 16;
  p.batch_count = some_products;
  p.run = some_run;
  p.residency = residency;
  return p;
}

// Lists name the same matrices again and again: no more is read than lies between the first and the last.
double bytes_of(const SumList& list, const SumExtent& extent) {
  const GemmProblem& p = list.problem;
  const double count = double(list.count()), size = double(size_bytes(p.dtype));
  const double each[] = {double(p.lda * p.a_cols()), double(p.ldb * p.b_cols()), double(p.ldc * p.n)};
  double bytes = 0;
  for (std::size_t j = 0; j < 3; ++j)
    bytes += std::min(count * each[j] * size, extent.bytes[j] + each[j] * size);
  return bytes;
}

}  // namespace

std::optional<SumFault> find_sum_fault(const SumList& list, SumExtent& extent) {
  const GemmProblem& p = list.problem;
  if (auto fault = find_fault(p)) return SumFault{*fault};
  if (!list.writes()) return {};
  if (list.offsets != nullptr && list.pointers != nullptr)
    return SumFault{{"offsets", 0, "offsets and pointers are both given"}};
  if (list.offsets == nullptr && list.pointers == nullptr && !list.by_arrays)
    return SumFault{{"offsets", 0, "neither offsets nor pointers are given"}};
  // What offsets count from, or three arrays of addresses.
  if (list.pointers == nullptr) {
    if (list.reads_ab() && list.a == nullptr) return SumFault{{"a", blas_number::a, "a is null"}};
    if (list.reads_ab() && list.b == nullptr) return SumFault{{"b", blas_number::b, "b is null"}};
    if (list.c == nullptr) return SumFault{{"c", blas_number::c, "c is null"}};
  }
  return product_fault(list, extent);
}

SumCode find_sum_code(Context::Impl& context, const SumList& list, const GemmOptions& options) {
  SumCode code;
  if (!list.reads_ab()) return code;
  const auto of = [&](Scalar beta, auto& kernel, auto& product) {
    GemmProblem p = list.problem;
    p.beta = beta;
    const auto plan = find_plan(context, p, options);
    kernel = plan->runner->small_kernel();
    if (kernel != nullptr) return;
    p.layout = Layout::single;
    p.sums = Sums::none;
    p.batch_count = p.run = 1;
    GemmOptions own = options;
    own.candidate.clear();
    product = find_plan(context, p, own)->runner;
  };
  of(list.problem.beta, code.first_kernel, code.first_product);
  if (list.problem.beta == Scalar::one)
    code.later_kernel = code.first_kernel, code.later_product = code.first_product;
  else
    of(Scalar::one, code.later_kernel, code.later_product);
  return code;
}

void run_stacks(Context::Impl& context, std::span<const SumList> lists, const void* beta,
                const GemmOptions& options) {
  if (options.stream != nullptr)
    throw Error(ErrorCode::invalid_argument, "stream",
                fmt::format("stream = {} is given, but the operands are in host memory", options.stream));
  double bytes = 0;
  SumExtent extent;
  for (std::size_t s = 0; s < lists.size(); ++s) {
    if (const auto found = find_sum_fault(lists[s], extent)) {
      const std::string of_many = lists.size() > 1 ? fmt::format("stack {}: ", s) : "";
      const std::string product = found->index >= 0 ? fmt::format("product {}: ", found->index) : "";
      throw Error(ErrorCode::invalid_argument, found->fault.argument,
                  of_many + product + found->fault.message, found->index);
    }
    if (lists[s].writes()) bytes += bytes_of(lists[s], extent);
  }
  const SumOrder order(lists, lists.size() == 1 && extent.ascends);
  if (options.checked) check_overlaps(lists);
  const Residency residency = residency_of(bytes, options);
  std::vector<SumCode> codes;
  bool by_kernels = true;
  for (std::size_t s = 0; s < lists.size(); ++s) {
    codes.emplace_back();
    if (!lists[s].writes()) continue;
    SumList planned = lists[s];
    planned.problem = as_planned(planned.problem, residency);
    codes[s] = find_sum_code(context, planned, options);
    by_kernels &= codes[s].first_product == nullptr;
  }
  const bool worth_threads = by_kernels && sums_s(lists) >= parallel_worth_s(options);
  run_sums(lists, codes, order, beta, worth_threads ? allowed_threads(options.threads) : 1);
}

}  // namespace tilewright
