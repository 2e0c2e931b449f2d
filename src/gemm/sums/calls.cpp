// Checking costs one pass over each list; what is wrong is looked for only where something is.
#include "gemm/sums/calls.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <unordered_set>

#include "core/refuse.hpp"
#include "gemm/overlap.hpp"
#include "gemm/parallel.hpp"
#include "gemm/plan.hpp"
#include "gemm/run/host.hpp"
#include "gemm/small/kernels.hpp"
#include "gemm/small/prepared.hpp"

namespace tilewright {
namespace {

constexpr std::int64_t largest_bytes = std::int64_t(1) << 62;

// The largest offset of a matrix that begins and ends within 62 bits of bytes.
std::uint64_t most_offset(std::int64_t ld, std::int64_t cols, std::int64_t size) {
  return std::uint64_t(largest_bytes / size - ld * cols);
}

std::optional<Fault> offset_fault(const ArgumentNames::Operand& x, std::int64_t offset, std::uint64_t most) {
  if (std::uint64_t(offset) <= most) return {};
  return Fault{x.matrix, x.number,
               offset < 0 ? fmt::format("the offset {} of {} is negative", offset, x.matrix)
                          : fmt::format("{} at offset {} ends behind 2^62 bytes", x.matrix, offset)};
}

std::optional<Fault> offsets_fault(const SumList& list, const StackOffsets& x) {
  const GemmProblem& p = list.problem;
  const std::int64_t size = size_bytes(p.dtype);
  if (list.reads_ab()) {
    if (auto fault = offset_fault(list.names->a, x.a, most_offset(p.lda, p.a_cols(), size))) return fault;
    if (auto fault = offset_fault(list.names->b, x.b, most_offset(p.ldb, p.b_cols(), size))) return fault;
  }
  return offset_fault(list.names->c, x.c, most_offset(p.ldc, p.n, size));
}

// Whether nothing can be wrong with the description of a stack: a few compares for the usual ones, of which a
// call may have many.
bool is_plainly_right(const GemmProblem& p) {
  constexpr std::int64_t most = std::int64_t(1) << 28;
  const auto fits = [](std::int64_t ld, std::int64_t rows) { return ld >= rows && ld <= most; };
  return p.op_a <= Op::conj_trans && p.op_b <= Op::conj_trans && is_small_size(p.m) && is_small_size(p.n) &&
         is_small_size(p.k) && fits(p.lda, p.a_rows()) && fits(p.ldb, p.b_rows()) && fits(p.ldc, p.m) &&
         p.batch_count >= 0 && p.batch_count <= most;
}

// What is said of a matrix at the largest offset of a list.
struct LargestOffsets {
  std::uint64_t a = 0, b = 0, c = 0;
  bool ascends = true;
};

LargestOffsets largest_offsets(const SumList& list) {
  LargestOffsets most;
  std::uint64_t last = 0;
  for (std::int64_t i = 0; i < list.count(); ++i) {
    const StackOffsets x = list.offsets[i];
    const auto c = std::uint64_t(x.c);
    most.a = std::max(most.a, std::uint64_t(x.a));
    most.b = std::max(most.b, std::uint64_t(x.b));
    most.c = std::max(most.c, c);
    most.ascends &= c >= last;
    last = c;
  }
  return most;
}

std::optional<SumFault> each_address_fault(const SumList& list) {
  return with_products(list, [&](auto&& at) -> std::optional<SumFault> {
    for (std::int64_t i = 0; i < list.count(); ++i) {
      const SumProduct x = at(i);
      if (auto fault = address_fault({x.a, x.b, x.c}, list.reads_ab(), *list.names))
        return SumFault{*fault, i};
    }
    return {};
  });
}

// One look at each offset, where nothing is wrong and C lies apart from A and B.
std::optional<SumFault> find_offset_fault(const SumList& list, SumExtent& extent) {
  const LargestOffsets most = largest_offsets(list);
  const StackOffsets all{list.reads_ab() ? std::int64_t(most.a) : 0,
                         list.reads_ab() ? std::int64_t(most.b) : 0, std::int64_t(most.c)};
  if (offsets_fault(list, all))
    for (std::int64_t i = 0; i < list.count(); ++i)
      if (auto fault = offsets_fault(list, list.offsets[i])) return SumFault{*fault, i};
  const auto size = double(size_bytes(list.problem.dtype));
  extent = {most.ascends, {double(most.a) * size, double(most.b) * size, double(most.c) * size}};
  const auto begin = [](const void* base) { return double(reinterpret_cast<std::uintptr_t>(base)); };
  const auto meets_c = [&](const void* base, double bytes) {
    return begin(base) <= begin(list.c) + extent.bytes[2] && begin(list.c) <= begin(base) + bytes;
  };
  const bool meets = meets_c(list.a, extent.bytes[0]) || meets_c(list.b, extent.bytes[1]);
  return list.reads_ab() && meets ? each_address_fault(list) : std::nullopt;
}

std::optional<SumFault> find_address_fault(const SumList& list, SumExtent& extent) {
  const auto number = [](const void* address) { return reinterpret_cast<std::uintptr_t>(address); };
  extent.ascends = true;
  std::array<std::uintptr_t, 3> low{}, high{};
  with_products(list, [&](auto&& at) {
    std::uintptr_t last = 0;
    for (std::int64_t i = 0; i < list.count(); ++i) {
      const SumProduct x = at(i);
      const std::array all{number(x.a), number(x.b), number(x.c)};
      for (std::size_t j = 0; j < 3; ++j) {
        low[j] = i == 0 ? all[j] : std::min(low[j], all[j]);
        high[j] = std::max(high[j], all[j]);
      }
      extent.ascends &= all[2] >= last;
      last = all[2];
    }
  });
  for (std::size_t j = 0; j < 3; ++j) extent.bytes[j] = double(high[j] - low[j]);
  const auto meets_c = [&](std::size_t j) { return low[j] <= high[2] && low[2] <= high[j]; };
  const bool reads = list.reads_ab();
  const bool doubtful = low[2] == 0 || (reads && (low[0] == 0 || low[1] == 0 || meets_c(0) || meets_c(1)));
  return doubtful ? each_address_fault(list) : std::nullopt;
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

// Whether one thread may take list after list as they stand: beta changes nothing, no list comes back to a C,
// and where lists differ in the size of C it is clear without a look at each that they have none in common.
// Bits are those of sorted sums, which are formed list by list too.
bool may_run_in_turn(std::span<const SumList> lists, std::span<const SumExtent> extents) {
  constexpr std::size_t most_lists = 64;  // which are compared with each other
  if (lists.size() > most_lists) return false;
  struct Range {
    const void *first, *last;
  };
  std::array<Range, most_lists> ranges{};
  const std::less<const void*> before;
  for (std::size_t s = 0; s < lists.size(); ++s) {
    if (!lists[s].writes()) continue;
    if (!extents[s].ascends || lists[s].problem.beta != Scalar::one) return false;
    ranges[s] = with_products(lists[s], [&](auto&& at) {
      return Range{at(0).c, at(lists[s].count() - 1).c};
    });
    for (std::size_t t = 0; t < s; ++t) {
      const GemmProblem &p = lists[s].problem, &q = lists[t].problem;
      const bool alike = p.m == q.m && p.n == q.n && p.ldc == q.ldc;
      const bool apart = before(ranges[s].last, ranges[t].first) || before(ranges[t].last, ranges[s].first);
      if (!alike && !apart && lists[t].writes()) return false;
    }
  }
  return true;
}

// Whether kernels form all of them.
bool find_codes(Context::Impl& context, std::span<const SumList> lists, Residency residency,
                const GemmOptions& options, std::span<SumCode> codes) {
  bool by_kernels = true;
  for (std::size_t s = 0; s < lists.size(); ++s) {
    if (!lists[s].writes()) continue;
    SumList planned = lists[s];
    planned.problem = as_planned(planned.problem, residency);
    codes[s] = find_sum_code(context, planned, options);
    by_kernels &= codes[s].first_product == nullptr;
  }
  return by_kernels;
}

}  // namespace

std::optional<Fault> find_list_fault(const GemmProblem& p, const ArgumentNames& names) {
  // As the caller names them: a list has a count.
  constexpr std::int64_t most = largest_bytes / std::int64_t(sizeof(StackOffsets));
  if (auto reason = negative_reason("count", p.batch_count)) return Fault{"count", 0, *reason};
  if (p.batch_count > most)
    return Fault{"count", 0, fmt::format("count = {} products span more than 2^62 bytes", p.batch_count)};
  return find_fault(p, names);
}

std::optional<SumFault> find_sum_fault(const SumList& list, SumExtent& extent) {
  const GemmProblem& p = list.problem;
  if (!is_plainly_right(p))
    if (auto fault = find_list_fault(p, *list.names)) return SumFault{*fault};
  if (!list.writes()) return {};
  if (list.offsets != nullptr && list.pointers != nullptr)
    return SumFault{{"offsets", 0, "offsets and pointers are both given"}};
  if (list.offsets == nullptr && list.pointers == nullptr && !list.by_arrays)
    return SumFault{{"offsets", 0, "neither offsets nor pointers are given"}};
  // What offsets count from, or three arrays of addresses.
  if (list.pointers == nullptr)
    if (auto fault = null_fault({list.a, list.b, list.c}, list.reads_ab(), *list.names))
      return SumFault{*fault};
  return list.offsets != nullptr ? find_offset_fault(list, extent) : find_address_fault(list, extent);
}

void refuse_list(std::size_t list_count, std::size_t list, const SumFault& found) {
  const std::string of_many = list_count > 1 ? fmt::format("stack {}: ", list) : "";
  const std::string product = found.index >= 0 ? fmt::format("product {}: ", found.index) : "";
  throw Error(ErrorCode::invalid_argument, found.fault.argument, of_many + product + found.fault.message,
              found.index);
}

SumKernel find_sum_kernel(Context::Impl& context, const GemmProblem& p, const GemmOptions& options) {
  const bool small = is_small_size(p.m) && is_small_size(p.n) && is_small_size(p.k);
  if (!small || !are_usual(options)) return find_plan(context, p, options)->runner->small_kernel();
  const auto make = [&]() -> SumKernel {
    const auto plan = make_plan(context, p, options, !context.no_jit);
    return plan->runner == nullptr ? nullptr : plan->runner->small_kernel();
  };
  const SmallKey key = small_key(p, stride_classes(p));
  if (SumKernel kernel = context.small->obtain(key, make)) return kernel;
  return find_plan(context, p, options)->runner->small_kernel();
}

SumCode find_sum_code(Context::Impl& context, const SumList& list, const GemmOptions& options) {
  SumCode code;
  if (!list.reads_ab()) return code;
  const auto of = [&](Scalar beta, auto& kernel, auto& product) {
    GemmProblem p = list.problem;
    p.beta = beta;
    kernel = find_sum_kernel(context, p, options);
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
  check_call_options(context, options, Location::host);
  double bytes = 0;
  std::vector<SumExtent> extents(lists.size());
  for (std::size_t s = 0; s < lists.size(); ++s) {
    if (const auto found = find_sum_fault(lists[s], extents[s])) refuse_list(lists.size(), s, *found);
    if (lists[s].writes()) bytes += bytes_of(lists[s], extents[s]);
  }
  if (options.checked) check_overlaps(lists);
  std::vector<SumCode> codes(lists.size());
  const bool by_kernels = find_codes(context, lists, residency_of(bytes, options), options, codes);
  const bool worth_threads = by_kernels && sums_s(lists) >= parallel_worth_s(options);
  const int threads = worth_threads ? allowed_threads(options.threads) : 1;
  SumScratches& scratches = context.small->sum_scratches();
  if (threads > 1 || lists.size() == 1 || !may_run_in_turn(lists, extents)) {
    const SumOrder order(lists, scratches, lists.size() == 1 && extents[0].ascends);
    return run_sums(lists, codes, order, beta, threads);
  }
  for (std::size_t s = 0; s < lists.size(); ++s) {
    const auto one = lists.subspan(s, 1);
    run_sums(one, std::span(codes).subspan(s, 1), SumOrder(one, scratches, true), beta, 1);
  }
}

}  // namespace tilewright
