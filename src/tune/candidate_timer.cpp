// Turns of a kernel on the calling thread, whose CPU time is the clock.
#include "tune/candidate_timer.hpp"

#include <algorithm>
#include <cmath>

#include "measure/clock.hpp"

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
      count_(problem.batch_count),
      hot_(problem.residency != Residency::cold),
      set_(arena, problem, batches_for(problem, problem.residency, 1)) {
  for (std::int64_t batch = 0; batch < set_.batches(); ++batch) batches_.push_back(set_.batch(batch));
}

CandidateTimer::Turn CandidateTimer::time(const SmallKernel& kernel, double turn_s) {
  if (!hot_) return time_cold(kernel, turn_s);
  call_.run(kernel, batches_.front(), count_);
  std::int64_t loops = 1;
  double seconds = loop(kernel, loops);
  // A first look at its speed, then as many runs as fill the turn.
  while (seconds < turn_s / 8) seconds = loop(kernel, loops *= 4);
  loops = std::max<std::int64_t>(1, std::llround(double(loops) * turn_s / seconds));
  const double problems = double(loops * count_);
  return {loop(kernel, loops) / problems, problems};
}

double CandidateTimer::loop(const SmallKernel& kernel, std::int64_t loops) const {
  const double begin = thread_cpu_seconds();
  for (std::int64_t i = 0; i < loops; ++i) call_.run(kernel, batches_.front(), count_);
  return thread_cpu_seconds() - begin;
}

CandidateTimer::Turn CandidateTimer::time_cold(const SmallKernel& kernel, double turn_s) {
  double elapsed = 0;
  std::int64_t runs = 0;
  while (runs == 0 || elapsed < turn_s) {
    const Operands& operands = batches_[next_++ % batches_.size()];
    const double begin = thread_cpu_seconds();
    call_.run(kernel, operands, count_);
    elapsed += thread_cpu_seconds() - begin;
    ++runs;
  }
  const double problems = double(runs * count_);
  return {elapsed / problems, problems};
}

}  // namespace tilewright
