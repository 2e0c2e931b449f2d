// The base of all runners on the host: where operands are expected, how many threads a call gets, and its
// batch shared out among them. What a run does with its problems is the runner's.
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
