// Who factors a matrix in host memory: candidates in one list, each of which declines a problem with a reason
// in words or factors it. The first that accepts runs.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "lu/tuned.hpp"
#include "tilewright/gemm.hpp"
#include "tilewright/lu.hpp"

namespace tilewright {

struct LuRequest {
  Context& context;
  const LuProblem& problem;  // valid
  const LuOptions& options;  // likewise
  // model: as options.select says. Else the CPU's share of each update is searched for by timing, when its
  // shape first comes: the optimum that selections are held against.
  SplitWay split = SplitWay::model;
  bool tuned = false;  // the options' candidate and panels are a record's, and not the caller's
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

// The record of wisdom whose candidate serves the problem; the request is then made with its config.
std::optional<TunedLu> serving_record(Context& context, const LuProblem& problem, const LuOptions& options);

// Throws Error(unsupported) with every reason where none serves.
const LuCandidate& choose_lu(const LuRequest& request);

// Asks no GPU and multiplies nothing: target gpu and hybrid are not theirs.
std::string why_not_on_cpu(const LuRequest& request);

}  // namespace tilewright
