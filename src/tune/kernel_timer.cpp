// Which batch is timed, and a kernel's turns over it.
#include "tune/kernel_timer.hpp"

#include <algorithm>

#include "device/cpu.hpp"

namespace tilewright {
namespace {

constexpr double cold_turn_bytes = 8.0 * 1024 * 1024;
// A ring that a budget is too small for shrinks in such steps, and not below this or twice the last cache.
constexpr double ring_step = 0.9, least_ring_bytes = 128.0 * 1024 * 1024;

}  // namespace

GemmProblem timed_problem(GemmProblem problem) {
  const Residency residency = problem.residency;
  std::int64_t count = default_batch_count(problem, residency);
  if (residency == Residency::cold) {
    const double per_problem =
        footprint_bytes(problem) / double(std::max<std::int64_t>(1, problem.batch_count));
    count = std::max<std::int64_t>(1, std::int64_t(cold_turn_bytes / std::max(1.0, per_problem)));
    if (problem.block > 1 && problem.layout == Layout::block_interleaved)
      count = (count + problem.block - 1) / problem.block * problem.block;
  }
  if (problem.layout != Layout::single) problem.batch_count = count;
  if (problem.layout == Layout::interleaved) problem.block = count;
  return problem;
}

void prepare_operands(const GemmProblem& problem, Arena& arena, double ring_bytes) {
  const GemmProblem timed = timed_problem(problem);
  const OperandSet set(arena, timed, batches_for(timed, timed.residency, 1, ring_bytes));
}

OperandRing affordable_ring(const GemmProblem& problem, const Arena& arena, double most_s) {
  const GemmProblem timed = timed_problem(problem);
  const auto to_fill = [&](double ring_bytes) {
    const auto extent = OperandSet::extent(timed, batches_for(timed, timed.residency, 1, ring_bytes));
    return arena.bytes_to_fill(extent.input_bytes, extent.output_bytes, timed.dtype, Data::uniform);
  };
  if (to_fill(cold_bytes) == 0) return {};
  const double byte_s = fill_seconds_per_byte(timed.dtype);
  const double whole_s = double(to_fill(cold_bytes)) * byte_s;
  if (whole_s <= most_s || timed.residency != Residency::cold) return {cold_bytes, whole_s};
  const double least = std::min(cold_bytes, std::max(least_ring_bytes, 2.0 * double(cpu_info().l3_bytes)));
  // What the arena holds costs nothing; else as much as can be filled.
  for (double bytes = cold_bytes; bytes > least; bytes *= ring_step)
    if (const double fill_s = double(to_fill(bytes)) * byte_s; fill_s <= most_s) return {bytes, fill_s};
  const double least_s = double(to_fill(least)) * byte_s;
  return {least_s <= most_s ? least : 0, least_s};
}

KernelTimer::KernelTimer(const GemmProblem& problem, Arena& arena, double ring_bytes)
    : call_(problem),
      set_(arena, problem, batches_for(problem, problem.residency, 1, ring_bytes)),
      timer_(problem.residency != Residency::cold, set_.batches(), problem.batch_count) {
  for (std::int64_t batch = 0; batch < set_.batches(); ++batch) batches_.push_back(set_.batch(batch));
}

KernelTimer::Turn KernelTimer::time(const GemmSmallCpuKernel& kernel, double turn_s) {
  const std::int64_t count = set_.problem().batch_count;
  const auto run = [&](std::int64_t batch) { call_.run(kernel, batches_[std::size_t(batch)], count); };
  return timer_.time(run, turn_s);
}

}  // namespace tilewright
