// Multiplication as an operation of src/plan: what its candidates are asked about, and what they say of
// themselves. One file in run/ and one line of candidates.cpp add a way to multiply.
#pragma once

#include "gemm/run/runner.hpp"
#include "plan/candidate.hpp"
#include "tilewright/context.hpp"
#include "tilewright/gemm.hpp"

namespace tilewright {

struct PlanRequest {
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
    // What it forms products in; calls of another mode are not its.
    MathMode math_mode = MathMode::full;
    // Whether products of a batch may have one C.
    bool forms_sums = false;
  };
  static constexpr bool compares = true;
  static Asked asked(const PlanRequest& request);
  static std::string why_not(const Candidate<GemmOperation>& candidate, const PlanRequest& request);
};

using GemmCandidate = Candidate<GemmOperation>;
using GemmMade = Made<GemmOperation>;
using GemmOffer = Offer<GemmOperation>;
using GemmOffers = Offers<GemmOperation>;

// The ordered list of what can run a multiplication.
std::span<const GemmCandidate> gemm_candidates();

}  // namespace tilewright
