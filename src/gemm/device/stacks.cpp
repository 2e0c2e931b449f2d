// Plans are found, and operands checked, for all stacks before the first is queued.
#include "gemm/device/stacks.hpp"

#include <cstddef>

#include "core/refuse.hpp"
#include "gemm/device/batches.hpp"
#include "gemm/execute.hpp"
#include "gemm/plan.hpp"
#include "gemm/sums/faults.hpp"

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

}  // namespace

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

GemmProblem device_sums_problem(GemmProblem p) {
  constexpr std::int64_t fewest = 64, most = std::int64_t(1) << 40, some_run = 16;
  std::int64_t count = fewest;
  while (count < p.batch_count && count < most) count *= 4;
  p.batch_count = count;
  p.run = p.sums == Sums::stack ? some_run : 1;
  p.location = Location::device;
  return p;
}

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

void run_device_stacks(Context::Impl& context, std::span<const SumList> lists, const void* beta,
                       const GemmOptions& options) {
  check_call_options(context, options, Location::device);
  for (std::size_t s = 0; s < lists.size(); ++s)
    if (const auto fault = device_list_fault(lists[s])) refuse_list(lists.size(), s, {*fault});
  std::vector<StackCall> calls;
  for (std::size_t s = 0; s < lists.size(); ++s) {
    const SumList& list = lists[s];
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

}  // namespace tilewright
