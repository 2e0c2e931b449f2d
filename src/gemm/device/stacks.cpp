// All stacks are checked before the first is queued. Lists are sorted on the host: each C has one run.
#include "gemm/device/stacks.hpp"

#include <cstddef>
#include <cstring>

#include "core/refuse.hpp"
#include "gemm/cpu_small/kernels.hpp"
#include "gemm/device/batches.hpp"
#include "gemm/plan.hpp"
#include "gemm/sums/run.hpp"

#if TILEWRIGHT_HAS_GPU
#include "gemm/device/machine.hpp"
#endif

namespace tilewright {
namespace {

struct StackCall {
  std::shared_ptr<const GemmPlan::Impl> plan;
  Operands operands;
};

GemmOptions stated_options(const GemmOptions& options, DType dtype) {
  GemmOptions stated = options;
  stated.align_bytes = int(size_bytes(dtype));
  return stated;
}

// Returns where the entries of a list that name A, B and C begin. alpha and beta outlive the operands.
Operands operands_of_list(const SumList& list, const void* beta, CUstream_st* stream) {
  const auto entries = [&](std::size_t of_a, std::size_t of_b, std::size_t of_c, const void* begin) {
    const auto* const bytes = static_cast<const char*>(begin);
    Operands o;
    o.a = bytes + of_a, o.b = bytes + of_b, o.c = const_cast<char*>(bytes + of_c);
    return o;
  };
  Operands o = list.offsets != nullptr
                   ? entries(offsetof(StackOffsets, a), offsetof(StackOffsets, b), offsetof(StackOffsets, c),
                             list.offsets)
                   : entries(offsetof(StackPointers<void>, a), offsetof(StackPointers<void>, b),
                             offsetof(StackPointers<void>, c), list.pointers);
  if (list.offsets != nullptr) o.lists = {list.a, list.b, list.c};
  o.lists.step = 3;
  o.lists.count = list.count();
  o.alpha = list.alpha, o.beta = beta;
  o.stream = stream;
  return o;
}

// Returns the problem as plans see it: a power of four at least as large serves any number of products.
GemmProblem device_sums_problem(GemmProblem p) {
  constexpr std::int64_t fewest = 64, most = std::int64_t(1) << 40, some_run = 16;
  std::int64_t count = fewest;
  while (count < p.batch_count && count < most) count *= 4;
  p.batch_count = count;
  p.run = p.sums == Sums::stack ? some_run : 1;
  p.location = Location::device;
  return p;
}

// Returns what the host can see of a list's fault, without its products.
std::optional<Fault> device_list_fault(const SumList& list) {
  if (auto fault = find_list_fault(list.problem, *list.names)) return fault;
  if (!list.writes()) return {};
  if (list.offsets != nullptr && list.pointers != nullptr)
    return Fault{"offsets", 0, "offsets and pointers are both given"};
  if (list.offsets == nullptr && list.pointers == nullptr)
    return Fault{"offsets", 0, "neither offsets nor pointers are given"};
  if (list.offsets == nullptr) return {};
  return address_fault({list.a, list.b, list.c}, list.reads_ab(), *list.names);
}

void refuse_device_lists(Context::Impl& context, std::span<const SumList> lists, const GemmOptions& options) {
  check_call_options(context, options, Location::device);
  for (std::size_t s = 0; s < lists.size(); ++s)
    if (const auto fault = device_list_fault(lists[s])) refuse_list(lists.size(), s, {*fault});
}

}  // namespace

void run_device_stacks(Context::Impl& context, std::span<const SumList> lists, const void* beta,
                       const GemmOptions& options) {
  refuse_device_lists(context, lists, options);
  std::vector<StackCall> calls;
  for (const SumList& list : lists) {
    if (!list.writes()) continue;
    calls.push_back({find_device_plan(context, device_sums_problem(list.problem),
                                      stated_options(options, list.problem.dtype), false),
                     operands_of_list(list, beta, options.queue.stream)});
  }
  for (const StackCall& call : calls) check_call(*call.plan, call.operands);
  for (const StackCall& call : calls) execute_checked(*call.plan, call.operands);
}

void run_device_reduce(Context::Impl& context, const GemmProblem& p, const Operands& operands,
                       const GemmOptions& options, const ArgumentNames& names) {
  if (p.m == 0 || p.n == 0) return;
  const bool has_products = p.batch_count > 0 && reads_ab(p);
  const void* const c = p.layout == Layout::pointer ? operands.lists.c : operands.c;
  if (const auto fault = null_fault({operands.a, operands.b, c}, has_products, names))
    refuse_argument(fault->argument, fault->message);
  Operands o = operands;
  o.lists.count = has_products ? p.batch_count : 0;
  o.stream = options.queue.stream;
  const auto plan =
      find_device_plan(context, device_sums_problem(p), stated_options(options, p.dtype), false);
  check_call(*plan, o);
  execute_checked(*plan, o);
}

#if TILEWRIGHT_HAS_GPU
namespace {

using Triple = StackPointers<void>;

// The products of one list in their order, C by C.
struct SortedList {
  std::vector<Triple> begin_sums, go_on;
};

// Copies on the host of lists in device memory.
struct BroughtLists {
  std::vector<std::vector<StackOffsets>> offsets;
  std::vector<std::vector<Triple>> pointers;

  template <class Product>
  static const Product* bring(const Gpu& gpu, const Product* list, std::int64_t count,
                              std::vector<std::vector<Product>>& kept) {
    if (list == nullptr) return nullptr;
    kept.emplace_back(std::size_t(count));
    gpu.read(kept.back().data(), const_cast<Product*>(list), std::size_t(count) * sizeof(Product));
    return kept.back().data();
  }
  BroughtLists(const Gpu& gpu, std::span<SumList> lists) {
    for (SumList& list : lists) {
      if (list.count() <= 0) continue;
      list.offsets = bring(gpu, list.offsets, list.count(), offsets);
      list.pointers = bring(gpu, list.pointers, list.count(), pointers);
    }
  }
};

std::vector<SortedList> sorted(std::span<const SumList> lists, const SumOrder& order) {
  std::vector<SortedList> all(lists.size());
  const auto append = [&](std::vector<Triple>& to, std::size_t s, std::int64_t first, std::int64_t count) {
    with_products(lists[s], [&](auto&& at) {
      for (std::int64_t i = first; i < first + count; ++i) to.push_back({at(i).a, at(i).b, at(i).c});
    });
  };
  if (const std::int64_t only = order.as_listed(); only >= 0) {
    append(all[std::size_t(only)].begin_sums, std::size_t(only), 0, order.count());
    return all;
  }
  std::int32_t begun_by = -1;  // the list with the first products of the current C
  for (const SumRun& run : order.runs()) {
    if (run.begins_sum) begun_by = run.list;
    const auto s = std::size_t(run.list);
    append(run.list == begun_by ? all[s].begin_sums : all[s].go_on, s, run.first, run.count);
  }
  return all;
}

StackPlan::Impl::Part part_of(Context::Impl& context, const SumList& list, const GemmOptions& options,
                              bool begins_sums) {
  StackPlan::Impl::Part part;
  part.begins_sums = begins_sums;
  GemmProblem p = device_sums_problem(list.problem);
  p.beta = begins_sums ? Scalar::general : Scalar::one;
  part.plan = find_plan(context, p, stated_options(options, p.dtype));
  part.operands = operands_of_list(list, nullptr, nullptr);
  dispatch(p.dtype, [&]<class T>() {
    const T one(1);
    std::memcpy(part.alpha.data(), list.alpha, sizeof(T));
    std::memcpy(part.one.data(), &one, sizeof(T));
  });
  return part;
}

void check_lists(std::span<const SumList> lists, std::span<SumExtent> extents) {
  for (std::size_t s = 0; s < lists.size(); ++s)
    if (const auto fault = find_sum_fault(lists[s], extents[s])) refuse_list(lists.size(), s, *fault);
}

}  // namespace

std::shared_ptr<const StackPlan::Impl> make_stack_plan(Context::Impl& context, std::vector<SumList> lists,
                                                       Location where, const GemmOptions& options) {
  refuse_unnamed("lists", where, Location::device);
  refuse_device_lists(context, lists, options);
  std::vector<SumExtent> extents(lists.size());
  if (where == Location::host) check_lists(lists, extents);
  const auto machine = context.gpus->open(options.queue.device);
  const Gpu::Current current(machine->gpu());
  std::optional<BroughtLists> brought;
  if (where == Location::device) {
    brought.emplace(machine->gpu(), lists);
    check_lists(lists, extents);
  }
  const SumOrder order(lists, context.small->sum_scratches(), lists.size() == 1 && extents[0].ascends);
  auto plan = std::make_shared<StackPlan::Impl>();
  if (!lists.empty()) plan->dtype = lists.front().problem.dtype;
  if (order.count() == 0) return plan;
  const std::vector<SortedList> products = sorted(lists, order);
  const auto memory =
      std::make_shared<GpuBuffer>(machine->gpu(), std::size_t(order.count()) * sizeof(Triple));
  plan->memory = memory;
  std::size_t at = 0;
  for (std::size_t s = 0; s < lists.size(); ++s)
    for (const bool begins : {true, false}) {
      const std::vector<Triple>& part = begins ? products[s].begin_sums : products[s].go_on;
      if (part.empty()) continue;
      memory->write(part.data(), part.size() * sizeof(Triple), at);
      SumList list = lists[s];
      list.a = list.b = list.c = nullptr;
      list.offsets = nullptr;
      list.pointers = memory->as<Triple>(at);
      list.problem.batch_count = std::int64_t(part.size());
      at += part.size() * sizeof(Triple);
      plan->parts.push_back(part_of(context, list, options, begins));
      const Runner& runner = *plan->parts.back().plan->runner;
      plan->explanation += fmt::format("stack {}: {} products {}: {} {}\n", s, part.size(),
                                       begins ? "that start sums" : "that continue sums of earlier stacks",
                                       plan->parts.back().plan->candidate, runner.config_text());
    }
  return plan;
}

#else

std::shared_ptr<const StackPlan::Impl> make_stack_plan(Context::Impl&, std::vector<SumList>, Location,
                                                       const GemmOptions&) {
  throw Error(ErrorCode::unsupported, "stacks", "stacks in device memory: this build has no GPU runtime");
}

#endif

void StackPlan::Impl::run(DType type, const void* beta, CUstream_st* stream) const {
  if (type != dtype && !parts.empty())
    refuse_argument("beta",
                    fmt::format("the plan is for {} but beta is {}", to_string(dtype), to_string(type)));
  for (const Part& part : parts) {
    Operands o = part.operands;
    o.alpha = part.alpha.data();
    o.beta = part.begins_sums ? beta : part.one.data();
    o.stream = stream;
    execute(*part.plan, o);
  }
}

}  // namespace tilewright
