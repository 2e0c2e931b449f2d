// Which batch is timed, and a kernel's turns over it.
#include "tune/candidate_timer.hpp"

#include <algorithm>

namespace tilewright {
namespace {

constexpr double cold_turn_bytes = 8.0 * 1024 * 1024;

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

void prepare_operands(const GemmProblem& problem, Arena& arena) {
  const GemmProblem timed = timed_problem(problem);
  const OperandSet set(arena, timed, batches_for(timed, timed.residency, 1));
}

CandidateTimer::CandidateTimer(const GemmProblem& problem, Arena& arena)
    : call_(problem),
      set_(arena, problem, batches_for(problem, problem.residency, 1)),
      timer_(problem.residency != Residency::cold, set_.batches(), problem.batch_count) {
  for (std::int64_t batch = 0; batch < set_.batches(); ++batch) batches_.push_back(set_.batch(batch));
}

CandidateTimer::Turn CandidateTimer::time(const SmallKernel& kernel, double turn_s) {
  const std::int64_t count = set_.problem().batch_count;
  const auto run = [&](std::int64_t batch) { call_.run(kernel, batches_[std::size_t(batch)], count); };
  return timer_.time(run, turn_s);
}

}  // namespace tilewright
