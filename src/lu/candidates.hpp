// Factorization of a matrix in host memory as an operation of src/plan. The first candidate of the list that
// can be made runs; those behind it are not asked.
#pragma once

#include <cstdint>

#include "lu/tuned.hpp"
#include "plan/candidate.hpp"
#include "tilewright/gemm.hpp"
#include "tilewright/lu.hpp"

namespace tilewright {

struct LuRequest {
  Context& context;
  LuProblem problem;  // valid
  LuOptions options;  // likewise
  // model: as options.select says. Else the CPU's share of each update is searched for by timing, when its
  // shape first comes: the optimum that selections are held against.
  SplitWay split = SplitWay::model;
  bool tuned = false;  // the options' candidate and panels are a record's, and not the caller's
};

struct LuOperation;

// A candidate as it factors the problem of its request.
class LuRunner {
 public:
  using Operation = LuOperation;

  explicit LuRunner(const LuRequest& request) : request_(request) {}
  virtual ~LuRunner() = default;

  // Of min(m, n) > 0; `a` holds elements of the problem's type. Fills in all of the report but the candidate.
  virtual LuReport factor(void* a, std::int64_t* pivots) const = 0;
  // What it does with the problem, in a sentence for explain.
  virtual std::string describe() const = 0;
  // Seconds by the machine's models, where they say how long it takes; of pinned operands.
  virtual std::optional<double> predicted_s() const { return std::nullopt; }
  virtual bool uses_gpus() const { return false; }  // as far as their models say that it pays

 protected:
  const LuRequest& request() const { return request_; }

 private:
  LuRequest request_;
};

struct LuOperation {
  using Request = LuRequest;
  using Runner = LuRunner;
  struct Traits {};
  static constexpr bool compares = false;
  static Asked asked(const LuRequest& r) { return {r.options.candidate}; }
};
using LuCandidate = Candidate<LuOperation>;
using LuOffers = Offers<LuOperation>;
using LuRanking = Ranking<LuOperation>;

extern const LuCandidate streamed_lu, lapack_lu, blocked_lu,
    reference_lu;  // the first with GPU sources alone
std::span<const LuCandidate> lu_candidates();

// Who factors, by the options alone. choose_lu() throws Error(unsupported) with every reason where nobody
// does.
LuRanking rank_lu(const LuRequest& request, std::span<const LuCandidate> candidates = lu_candidates());
LuRanking choose_lu(const LuRequest& request);

// A call decided, once: by the record of wisdom if its candidate serves, else by the options.
LuRanking decide_lu(Context& context, const LuProblem& problem, const LuOptions& options,
                    std::span<const LuCandidate> candidates = lu_candidates());

// Throws Error(unsupported) with every reason where nobody serves.
void require_served(const LuRanking& ranking, const LuProblem& problem, const LuOptions& options);

// What each candidate says of a factorization and which one serves it; those listed are of matrices on the
// host. Throws Error(invalid_argument) for bad fields and options.
Explanation lu_explanation(Context& context, const LuProblem& problem, const LuOptions& options,
                           std::span<const LuCandidate> candidates = lu_candidates());
// A line for the record that decided and for each candidate.
std::string lu_text(const Explanation& said);

// Asks no GPU and multiplies nothing: target gpu and hybrid are not theirs.
std::string why_not_on_cpu(const LuRequest& request);

}  // namespace tilewright
