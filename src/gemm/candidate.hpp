// Multiplication as an operation of src/plan: what its candidates are asked about, and what they say of
// themselves. One file in run/ and one line of candidates.cpp add a way to multiply.
#pragma once

#include "gemm/run/runner.hpp"
#include "plan/candidate.hpp"
#include "tilewright/context.hpp"
#include "tilewright/gemm.hpp"

namespace tilewright {

struct GemmOperation;

struct PlanRequest {
  using Operation = GemmOperation;

  Context::Impl& context;
  const GemmProblem& problem;  // valid, residency resolved
  const GemmOptions& options;
  bool may_compile = true;      // GPU kernels; else only what is in memory or on disk serves
  bool shares_configs = false;  // without a record, the default of a problem of about this size serves
};

struct GemmOperation {
  using Request = PlanRequest;
  using Runner = tilewright::Runner;
  struct Traits {
    // The arithmetic of its products; it does not serve calls of another mode.
    MathMode math_mode = MathMode::full;
    // True if products of a batch may have one C.
    bool forms_sums = false;
  };
  static constexpr bool compares = true;
  static Asked asked(const PlanRequest& request);
  static std::string why_not(const Candidate<GemmOperation>& candidate, const PlanRequest& request);

  using Problem = GemmProblem;
  static const GemmProblem& problem(const PlanRequest& request) { return request.problem; }
  static GemmProblem problem_of(const std::string& record) { return packed(parse_problem(record)); }
  static bool records(const PlanRequest& request, const char* family, const std::string& architecture,
                      const std::string& device, const std::string& objective, const Wisdom::Take& take);
  static double work(GemmProblem problem);  // of one problem of the batch
};

using GemmCandidate = Candidate<GemmOperation>;
using GemmMade = Made<GemmOperation>;
using GemmOffer = Offer<GemmOperation>;
using GemmOffers = Offers<GemmOperation>;

// Returns what a call minimises. Throws Error(invalid_argument) naming objective_weight.
inline TuneObjective objective_of(const GemmOptions& options) {
  return TuneObjective::of(options.objective, options.objective_weight);
}

// The ordered list of what can run a multiplication.
std::span<const GemmCandidate> gemm_candidates();

}  // namespace tilewright
