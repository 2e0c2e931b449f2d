// Direct kernel calls, the batch that is timed, and its operands.
#include "tune/kernel_timer.hpp"

#include <algorithm>
#include <cstring>

#include "core/dispatch.hpp"
#include "device/cpu.hpp"
#include "measure/typed_values.hpp"

namespace tilewright {
namespace {

constexpr double cold_turn_bytes = 8.0 * 1024 * 1024;
// A ring that exceeds the budget shrinks in steps, not below this or twice the last-level cache.
constexpr double ring_step = 0.9, least_ring_bytes = 128.0 * 1024 * 1024;

// Distance of problems, or of blocks in interleaved layouts.
std::int64_t stride_bytes(const GemmProblem& problem, std::int64_t stride, std::int64_t ld,
                          std::int64_t columns) {
  const std::int64_t size = size_bytes(problem.dtype);
  return is_interleaved(problem.layout) ? problem.block * ld * columns * size : stride * size;
}

}  // namespace

std::complex<double> representative(Scalar kind) {
  switch (kind) {
    case Scalar::zero:
      return 0;
    case Scalar::one:
      return 1;
    case Scalar::general:
    case Scalar::per_problem:
      return -0.75;
  }
  return 0;
}

ScalarValues::ScalarValues(const GemmProblem& problem) {
  dispatch(problem.dtype, [&]<class T>() {
    const T a = value_from<T>(representative(problem.alpha));
    const T b = value_from<T>(representative(problem.beta));
    std::memcpy(alpha.data(), &a, sizeof a);
    std::memcpy(beta.data(), &b, sizeof b);
  });
}

PreparedCall::PreparedCall(const GemmProblem& problem) : scalars_(problem) {
  call_.strided(
      problem.batch_count, stride_bytes(problem, problem.stride_a, problem.lda, problem.a_cols()),
      stride_bytes(problem, problem.stride_b, problem.ldb, problem.b_cols()),
      problem.sums == Sums::none ? stride_bytes(problem, problem.stride_c, problem.ldc, problem.n) : 0);
}

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
  // A batch is longer than a call that a program makes now and then.
  if (problem.arrival == Arrival::idle) count = std::min(count, problem.batch_count);
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
  if (problem.arrival == Arrival::idle) isolated_.emplace();
}

KernelTimer::Turn KernelTimer::time(const GemmSmallCpuKernel& kernel, double turn_s) {
  const std::int64_t count = set_.problem().batch_count;
  const auto run = [&](std::int64_t batch) { call_.run(kernel, batches_[std::size_t(batch)], count); };
  if (!isolated_) return timer_.time(run, turn_s);
  return {isolated_->time(set_, run, turn_s) / double(count),
          double(count) * IsolatedCalls::calls_in(turn_s)};
}

}  // namespace tilewright
