// Multiplication as an operation of src/plan: what its candidates are asked about, what they say of
// themselves, and their list. A new candidate is one file in run/ and one line of candidates.cpp.
#pragma once

#include "core/problem.hpp"
#include "gemm/run/runner.hpp"
#include "plan/candidate.hpp"
#include "tilewright/context.hpp"
#include "tilewright/gemm.hpp"

namespace tilewright {

struct GemmOperation;

struct PlanRequest {
  using Operation = GemmOperation;

  Context::Impl& context;
  const GemmProblem& problem;  // valid, residency resolved, factors as kernels are made for them
  const GemmOptions& options;
  bool may_compile = true;      // GPU kernels; if false, only kernels in memory or on disk serve
  bool shares_configs = false;  // without a record, the default of a problem of similar size serves
  ScalarsVary vary{};           // on a GPU
  bool learns = false;          // the plan learns from its calls (GemmOptions::learn)
  // The model that forecasts the problem on a GPU, read by the first candidate that needs it
  // (run/device.hpp).
  mutable std::shared_ptr<const void> forecast_model{};
};

struct GemmOperation {
  using Request = PlanRequest;
  using Runner = tilewright::Runner;
  struct Traits {
    MathMode math_mode = MathMode::full;  // the only mode that the candidate serves
    bool forms_sums = false;              // true if products of a batch may have one C
  };
  static constexpr bool compares = true;
  static std::size_t rivals(const PlanRequest& request) { return request.learns ? 2 : 0; }
  static Asked asked(const PlanRequest& request);
  static std::string why_not(const Candidate<GemmOperation>& candidate, const PlanRequest& request);

  using Problem = GemmProblem;
  static const GemmProblem& problem(const PlanRequest& request) { return request.problem; }
  static GemmProblem problem_of(const std::string& record) { return packed(parse_problem(record)); }
  static bool records(const PlanRequest& request, const char* family, const std::string& architecture,
                      const std::string& device, const std::string& objective, const Wisdom::Take& take);
  static double work(GemmProblem problem);  // of one problem of the batch
  // Returns how many of A, B and C have all columns at multiples of 16 bytes in only one of two problems on a
  // GPU: such columns are copied by other instructions.
  static int aligned_in_one(const GemmProblem& x, const GemmProblem& y);
};

using GemmCandidate = Candidate<GemmOperation>;
using GemmMade = Made<GemmOperation>;
using GemmOffer = Offer<GemmOperation>;
using GemmOffers = Offers<GemmOperation>;

// Returns what an exact record of `problem` is measured on: no count, leading dimensions, strides, alpha.
GemmProblem problem_to_tune(const GemmProblem& problem);

// Returns the objective that a call minimises. Throws Error(invalid_argument) naming objective_weight.
inline TuneObjective objective_of(const GemmOptions& options) {
  return TuneObjective::of(options.objective, options.objective_weight);
}

// All candidates, in the order in which plans ask them.
std::span<const GemmCandidate> gemm_candidates();
extern const GemmCandidate scale_candidate, cpu_small_candidate, cpu_bands_candidate, gpu_small_candidate,
    gpu_converted_candidate, gpu_thin_candidate, gpu_large_candidate, cublas_candidate, hybrid_candidate,
    host_blas_candidate, batch_reduce_candidate, reference_candidate;

// Ranks candidates for a valid problem on a GPU that has several levels, which are joined.
Ranking<GemmOperation> rank_levels(const PlanRequest& request);

// The candidate scale for operands on a GPU.
std::string device_scale_declines(const PlanRequest& request);
GemmOffers device_scale_offers(const PlanRequest& request);

// The runner of cpu_small for sums into one C, with a config of the problem's space.
std::shared_ptr<const Runner> small_sums_runner(const PlanRequest& request, const GemmSmallCpuConfig& config);

}  // namespace tilewright
