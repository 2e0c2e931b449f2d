// Finds the code of sums, which does not depend on the number of products, and runs it.
#include "gemm/sums/calls.hpp"

#include <algorithm>
#include <functional>
#include <unordered_set>

#include "core/refuse.hpp"
#include "gemm/cpu_small/calls.hpp"
#include "gemm/device/stacks.hpp"
#include "gemm/parallel.hpp"
#include "gemm/plan.hpp"
#include "gemm/pointers.hpp"
#include "gemm/run/host.hpp"
#include "gemm/sums/run.hpp"

namespace tilewright {
namespace {

void check_overlaps(std::span<const SumList> lists) {
  std::vector<Extent> extents;
  std::vector<std::pair<std::size_t, std::int64_t>> places;
  std::unordered_set<const void*> seen;
  for (std::size_t s = 0; s < lists.size(); ++s) {
    if (!lists[s].writes()) continue;
    with_products(lists[s], [&](auto&& at) {
      for (std::int64_t i = 0; i < lists[s].count(); ++i) {
        const void* const c = at(i).c;
        if (!seen.insert(c).second) continue;
        extents.push_back(extent_of(c, lists[s].problem, std::int64_t(places.size())));
        places.emplace_back(s, i);
      }
    });
  }
  const auto name = [&](std::int64_t place) {
    return fmt::format("that of product {} of stack {}", places[std::size_t(place)].second,
                       places[std::size_t(place)].first);
  };
  for (const Overlap& overlap : find_overlaps(extents))
    refuse_argument("c",
                    fmt::format("matrices of c overlap in part: {} and {}", name(overlap.problem_index),
                                name(overlap.other_index)),
                    places[std::size_t(overlap.problem_index)].second);
}

// Returns the stack as plans see it: independent of its number of products, and of products per C.
GemmProblem as_planned(GemmProblem p, Residency residency) {
  constexpr std::int64_t some_products = 1024, some_run = 16;
  p.batch_count = some_products;
  p.run = some_run;
  p.residency = residency;
  return p;
}

// Lists name the same matrices repeatedly: at most the range from the first to the last is read.
double bytes_of(const SumList& list, const SumExtent& extent) {
  const GemmProblem& p = list.problem;
  const double count = double(list.count()), size = double(size_bytes(p.dtype));
  const double each[] = {double(p.lda * p.a_cols()), double(p.ldb * p.b_cols()), double(p.ldc * p.n)};
  double bytes = 0;
  for (std::size_t j = 0; j < 3; ++j)
    bytes += std::min(count * each[j] * size, extent.bytes[j] + each[j] * size);
  return bytes;
}

// True if one thread may run list after list as given: beta is 1, no list returns to a C, and lists of C of
// different sizes clearly share none. The bits equal those of sorted sums, which are formed list by list too.
bool may_run_in_turn(std::span<const SumList> lists, std::span<const SumExtent> extents) {
  constexpr std::size_t most_lists = 64;  // compared pairwise
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

// Returns the kernel for the sums of a valid problem, made at first request; null if there is none. Fields
// that do not enter the code must be the same for all: counts, runs and, except for their classes, strides.
SmallKernels::Kernel find_sum_kernel(Context::Impl& context, const GemmProblem& p,
                                     const GemmOptions& options) {
  if (are_small_sizes(p) && are_default(options)) {
    const auto make = [&]() -> SmallKernels::Kernel {
      const auto plan = make_plan(context, p, options, !context.no_jit);
      return plan->runner == nullptr ? nullptr : plan->runner->small_kernel();
    };
    if (auto kernel = context.small->obtain(p, make)) return kernel;
  }
  return find_plan(context, p, options)->runner->small_kernel();
}

// Returns the code that forms the sums of a valid stack.
SumCode find_sum_code(Context::Impl& context, const SumList& list, const GemmOptions& options) {
  SumCode code;
  if (!list.reads_ab()) return code;
  const auto of = [&](Scalar beta, auto& kernel, auto& product) {
    GemmProblem p = list.problem;
    p.beta = beta;
    kernel = find_sum_kernel(context, p, options);
    if (kernel != nullptr) return;
    GemmOptions own = options;
    own.candidate.clear();
    product = find_plan(context, single_of(p, beta), own)->runner;
  };
  of(list.problem.beta, code.first_kernel, code.first_product);
  if (list.problem.beta == Scalar::one)
    code.later_kernel = code.first_kernel, code.later_product = code.first_product;
  else
    of(Scalar::one, code.later_kernel, code.later_product);
  return code;
}

// True if kernels form all of them.
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

void check_reduced_addresses(const GemmProblem& p, const Operands& o, const void* c,
                             const ArgumentNames& names) {
  if (p.m == 0 || p.n == 0) return;
  const bool reads = reads_ab(p) && p.batch_count > 0;
  const auto refuse_fault = [](const std::optional<Fault>& fault, std::int64_t product) {
    if (!fault) return;
    refuse_argument(fault->argument,
                    product < 0 ? fault->message : fmt::format("product {}: {}", product, fault->message),
                    product);
  };
  if (p.layout != Layout::pointer || !reads)
    return refuse_fault(address_fault({o.a, o.b, c}, reads, names), -1);
  refuse_fault(null_fault({o.a, o.b, c}, true, names), -1);
  const auto *a = static_cast<const void*const*>(o.a), *b = static_cast<const void*const*>(o.b);
  for (std::int64_t i = 0; i < p.batch_count; ++i)
    refuse_fault(address_fault({a[i], b[i], c}, true, names), i);
}

void reduce_on_host(Context::Impl& context, const GemmProblem& p, const Operands& o,
                    const GemmOptions& options) {
  if (p.m == 0 || p.n == 0) return;
  const bool is_served = p.batch_count > 0 && reads_ab(p) && are_small_sizes(p);
  if (!is_served) return execute(*find_plan(context, p, options), o);
  // One plan for all counts.
  constexpr std::int64_t some_products = 16;
  GemmProblem planned = p;
  planned.residency = judged_residency(p, options);
  planned.batch_count = some_products;
  const auto kernel = find_sum_kernel(context, planned, options);
  if (kernel == nullptr) return execute(*find_plan(context, p, options), o);
  SmallBatch(p, {p, *kernel}).run(o, 0, p.batch_count);
}

}  // namespace

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
  const int threads = by_kernels ? threads_for(sums_s(lists), options.threads) : 1;
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

void check_reduce_shapes(const GemmProblem& p, MatrixShape a, MatrixShape b) {
  if (auto fault = find_shape_fault(p); fault && fault->blas_number <= blas_number::k)
    refuse_argument(fault->argument, fault->message);
  const auto check = [](const char* name, MatrixShape x, std::int64_t rows, std::int64_t cols) {
    if (x.rows != rows || x.cols != cols)
      refuse_argument(name, fmt::format("{} is {} x {} as stored, but c and the ops need {} x {}", name,
                                        x.rows, x.cols, rows, cols));
  };
  check("a", a, p.a_rows(), p.a_cols());
  check("b", b, p.b_rows(), p.b_cols());
}

void run_batch_reduce(Context::Impl& context, const GemmProblem& p, const Operands& operands,
                      const GemmOptions& options, const ArgumentNames& names) {
  check_call_options(context, options, p.location);
  validate(p, names);
  Operands o = operands;
  void* c = operands.c;
  const bool by_pointers = p.layout == Layout::pointer;
  if (p.location == Location::device) {
    if (by_pointers) o.c = nullptr, o.lists.c = c;
    return run_device_reduce(context, p, o, options, names);
  }
  check_reduced_addresses(p, o, c, names);
  if (by_pointers) o.c = &c;  // as plans expect it
  reduce_on_host(context, p, o, options);
}

}  // namespace tilewright
