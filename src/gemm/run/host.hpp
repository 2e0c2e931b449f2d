// What all ways to compute on the host share: how many threads a call gets, and the cut of its batch into one
// run of problems for each. What a run does with its problems is the runner's.
#pragma once

#include "gemm/candidate.hpp"

namespace tilewright {

// Why the host does not serve the problem alone; "" where it does.
std::string why_not_on_host(const PlanRequest& request);

// Where host operands of so many bytes are expected, unless the options say it.
Residency residency_of(double bytes, const GemmOptions& options);
// The same of a problem, which may say it too, wherever its operands lie.
Residency judged_residency(const GemmProblem& problem, const GemmOptions& options);

// Seconds that one thread would need, from round numbers of a current core: good enough to decide about
// threads.
double estimate_s(const GemmProblem& problem);
std::string seconds_text(double seconds);

// Work below which one thread serves a call. A parallel region costs about 1.4 us while OpenMP's threads
// still spin from the last one and about 25 us when they have gone to sleep (2 cores, GCC's runtime).
// Unasked, a second thread must pay nearly always; a caller who names a thread count gets it as soon as it
// pays for spinning threads.
inline double parallel_worth_s(const GemmOptions& options) { return options.threads > 1 ? 3e-6 : 20e-6; }

// How many threads a call gets.
int host_threads(const GemmProblem& problem, const GemmOptions& options);

// run(first, count) for one run of the batch after the other on each of several threads, those on the node
// where a run's data lie first.
void share_out(const GemmProblem& problem, const Operands& operands, int threads,
               const std::function<void(std::int64_t first, std::int64_t count)>& run);

class HostRunner : public Runner {
 public:
  explicit HostRunner(const PlanRequest& request);

  void check(const Operands& operands) const override;
  void run(const Operands& operands) const override;
  bool cuts_batches() const override { return true; }
  bool runs_parts() const override { return true; }
  void run_part(const Operands& operands, std::int64_t first, std::int64_t count, int threads) const override;
  std::string device() const override;
  std::string threads_text() const override;
  int thread_count() const override;

 protected:
  const GemmProblem& problem() const { return problem_; }
  int asked_threads() const { return threads_; }
  bool is_sequential() const { return sequential_; }

 private:
  GemmProblem problem_;
  int threads_;      // as asked for; 0 = OpenMP's default
  bool sequential_;  // too little work for a second thread, or one was asked for
};

}  // namespace tilewright
