// Factorization of a matrix in host memory as an operation of src/plan, and the records that tuning has made
// of it. The first candidate of the list that can be made runs; those behind it are not asked.
#pragma once

#include <cstdint>
#include <string>

#include "core/problem.hpp"
#include "plan/candidate.hpp"
#include "tilewright/context.hpp"
#include "tilewright/gemm.hpp"
#include "tilewright/lu.hpp"
#include "wisdom/wisdom.hpp"

namespace tilewright {

struct LuRequest {
  Context& context;
  LuProblem problem;  // valid
  LuOptions options;  // likewise
  // model: as options.select says. Else the CPU's share of each update is searched for by timing when its
  // shape first occurs: the optimum that selections are compared with.
  SplitRule split = SplitRule::model;
  bool tuned = false;  // the options' candidate and panels come from a record
};

struct LuOperation;

// A candidate as it factors the problem of its request.
class LuRunner {
 public:
  using Operation = LuOperation;

  explicit LuRunner(const LuRequest& request) : request_(request) {}
  virtual ~LuRunner() = default;

  // For min(m, n) > 0; `a` holds elements of the problem's type. Fills in all but report.candidate.
  virtual LuReport factor(void* a, std::int64_t* pivots) const = 0;
  // Describes in a sentence, for explain, how it factors the problem.
  virtual std::string describe() const = 0;
  // Seconds of pinned operands by the machine's models, if they predict it.
  virtual std::optional<double> predicted_s() const { return std::nullopt; }
  virtual bool uses_gpus() const { return false; }  // if the models say that it pays

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

extern const LuCandidate streamed_lu;  // in builds with GPU sources
extern const LuCandidate lapack_lu, blocked_lu, reference_lu;
std::span<const LuCandidate> lu_candidates();

// Ranks by the options alone. choose_lu() throws Error(unsupported) with every reason if no candidate serves.
LuRanking rank_lu(const LuRequest& request, std::span<const LuCandidate> candidates = lu_candidates());
LuRanking choose_lu(const LuRequest& request);

// A record in words: "wisdom (near_shape, file:7, of lu:f64:m=2000,n=2000): streamed with nb=192".
std::string tuned_text(const WisdomAnswer& record);

// Operations in host memory below which a look-up may cost more than it saves: calls skip it, and nothing is
// tuned.
inline constexpr double least_tuned_flops = 1e7;

// The device of factorizations' records: the CPU with all its GPUs for matrices in host memory, else the GPU.
std::string lu_device_name(Context& context, const LuProblem& problem, int gpu);

// The record for the problem, or for the nearest one of its type and place whose sizes differ by less than a
// factor of two in all; its config is a LuConfig. Match none if there is none or the options decide.
WisdomAnswer tuned_lu(Context& context, const LuProblem& problem, const LuOptions& options);

// The options with the record's config.
LuOptions with_config(LuOptions options, const LuConfig& config);

// Returns rank(options, is_tuned) with the record's config if a candidate serves that, else without it.
template <class Rank>
auto ranked_by_record(const WisdomAnswer& record, const LuOptions& options, const Rank& rank) {
  if (record.match == WisdomMatch::none) return rank(options, false);
  auto ranking = rank(with_config(options, from_json<LuConfig>(record.config)), true);
  ranking.known = record;
  return ranking.winner != nullptr ? std::move(ranking) : rank(options, false);
}

// Decides a call once: by the record of wisdom if its candidate serves, else by the options.
LuRanking decide_lu(Context& context, const LuProblem& problem, const LuOptions& options,
                    std::span<const LuCandidate> candidates = lu_candidates());

// Throws Error(unsupported) with every reason if no candidate serves.
void require_served(const LuRanking& ranking, const LuProblem& problem, const LuOptions& options);

// The answers of all candidates about a factorization, and which one serves it; `candidates` are those for
// matrices on the host. Throws Error(invalid_argument) for bad fields and options.
Explanation lu_explanation(Context& context, const LuProblem& problem, const LuOptions& options,
                           std::span<const LuCandidate> candidates = lu_candidates());
// A line for the record that decided and for each candidate.
std::string lu_text(const Explanation& said);

// Returns why a candidate of the CPU declines: target is gpu or hybrid.
std::string why_not_on_cpu(const LuRequest& request);

}  // namespace tilewright
