// Who factors a matrix in host memory: candidates in one list, each of which declines a problem with a reason
// in words or factors it. The first that accepts runs.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lu/tuned.hpp"
#include "tilewright/gemm.hpp"
#include "tilewright/lu.hpp"

namespace tilewright {

struct StreamedChoice;  // what models and GPUs say of a problem

struct LuRequest {
  Context& context;
  LuProblem problem;  // valid
  LuOptions options;  // likewise
  // model: as options.select says. Else the CPU's share of each update is searched for by timing, when its
  // shape first comes: the optimum that selections are held against.
  SplitWay split = SplitWay::model;
  bool tuned = false;  // the options' candidate and panels are a record's, and not the caller's
  // Found when a candidate is first asked of the request, and used when it runs: models are asked once.
  mutable std::shared_ptr<const StreamedChoice> streamed{};
};

struct LuCandidate {
  const char* name;
  // Why it cannot serve the problem; "" when it can.
  std::string (*declines)(const LuRequest& request);
  // Of min(m, n) > 0; `a` holds elements of the problem's type. Fills in all of the report but its candidate.
  LuReport (*factor)(const LuRequest& request, void* a, std::int64_t* pivots);
  // What it does with the problem, in a sentence for explain.
  std::string (*describe)(const LuRequest& request);
  // Seconds by the machine's models; null: none of them says how long it takes.
  double (*predict)(const LuRequest& request) = nullptr;
  bool uses_gpus = false;  // as far as their models say that it pays
};

extern const LuCandidate streamed_lu, lapack_lu, blocked_lu,
    reference_lu;  // the first with GPU sources alone

std::span<const LuCandidate> lu_candidates();

struct LuDecision {
  const LuCandidate* candidate;
  std::string reason;  // why it declines; "" where it accepts
};

// In the order of the list, up to the first that accepts; of options.candidate alone where one is named.
std::vector<LuDecision> decide_lu(const LuRequest& request);

// A call decided, once: by the record of wisdom if its candidate serves, else by the first candidate that
// accepts.
struct LuChoice {
  std::optional<TunedLu> tuned;
  LuRequest request;  // with the record's config
  std::vector<LuDecision> decisions;

  const LuCandidate* candidate() const;  // null where none serves
};
LuChoice decide_lu(Context& context, const LuProblem& problem, const LuOptions& options);

// The candidate that serves. Throws Error(unsupported) with every reason where none does.
const LuCandidate& served_lu(const LuRequest& request, const std::vector<LuDecision>& decisions);
const LuCandidate& choose_lu(const LuRequest& request);

// Asks no GPU and multiplies nothing: target gpu and hybrid are not theirs.
std::string why_not_on_cpu(const LuRequest& request);

}  // namespace tilewright
