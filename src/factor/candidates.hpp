// Batched factorizations and solves as an operation of src/plan: its candidates are compared by the time that
// they take.
#pragma once

#include <span>

#include "factor/call.hpp"
#include "plan/candidate.hpp"

namespace tilewright {

struct FactorRequest {
  Context& context;
  const FactorWork& work;  // valid
  const FactorOptions& options;
};

struct FactorOperation;

// A candidate as it runs a batch.
class FactorRunner {
 public:
  using Operation = FactorOperation;
  virtual ~FactorRunner() = default;
  virtual void run(Context& context, const FactorWork& work, int threads) const = 0;
};

struct FactorOperation {
  using Request = FactorRequest;
  using Runner = FactorRunner;
  struct Traits {};
  static constexpr bool compares = true;
  static Asked asked(const FactorRequest& r) { return {r.options.candidate}; }
};
using FactorCandidate = Candidate<FactorOperation>;
using FactorRanking = Ranking<FactorOperation>;

extern const FactorCandidate lanes_factor, blocked_factor, gpu_small_factor, gpu_large_factor;
// Returns the candidates for matrices in memory of that kind.
std::span<const FactorCandidate> factor_candidates(Location location = Location::host);

// Multiplications and additions of one problem.
double factor_operations(const FactorWork& work);

// The only offer of a candidate: its runner, with the seconds that a thread takes for one problem, roughly.
Offers<FactorOperation> factor_offer(double problem_s, std::shared_ptr<const FactorRunner> runner);

// Throws Error(unsupported) with every reason if none serves.
FactorRanking choose_factor(const FactorRequest& request);

// Computes a valid call with elements; on a GPU it is queued.
void run_factor(const FactorRequest& request);
// Queues what a call without elements leaves behind in device memory.
void finish_empty_on_device(Context& context, const FactorWork& work);

}  // namespace tilewright
