// Runners on the host: their base, with expected residency and number of threads, and products by a CBLAS.
#pragma once

#include "core/quantity.hpp"
#include "device/cblas.hpp"
#include "gemm/candidate.hpp"
#include "gemm/parallel.hpp"

namespace tilewright {

// Returns why the host alone does not serve the problem; "" if it does.
std::string why_not_on_host(const PlanRequest& request);

// Returns the expected residency of host operands of `bytes` bytes, unless the options state it.
Residency residency_of(double bytes, const GemmOptions& options);
// The same for a problem, which may state it too, wherever its operands lie.
Residency judged_residency(const GemmProblem& problem, const GemmOptions& options);

// Estimates seconds on one thread from round figures of a current core: good enough to choose threads.
double estimate_s(const GemmProblem& problem);

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

// Runs problems first ... first + count - 1, one call each, by `threads` threads of the library (0: its
// default); alpha = 0 leaves C scaled.
void multiply_by_cblas(const CblasLibrary& library, const GemmProblem& problem, const Operands& operands,
                       std::int64_t first, std::int64_t count, int threads);

// Returns how many threads of the library a call gets; 0: the library's default.
inline int cblas_threads(int asked) {
  const int allowed = allowed_threads(asked);
  return asked > 0 || allowed == 1 ? allowed : 0;
}

// Returns why the library cannot be called for the problem; "" if it can.
std::string why_not_by_cblas(const CblasLibrary& library, const GemmProblem& problem);

}  // namespace tilewright
