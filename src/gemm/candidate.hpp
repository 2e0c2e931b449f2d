// A way to compute a multiplication as plan() sees it: it declines a problem with a reason in words, or makes
// offers, the best first, each of which says what it would cost, how well that is known, and how to make its
// runner. rank.hpp compares offers; candidates.hpp lists all ways.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "gemm/run/runner.hpp"
#include "tilewright/context.hpp"
#include "tilewright/gemm.hpp"
#include "wisdom/wisdom.hpp"

namespace tilewright {

struct PlanRequest {
  Context::Impl& context;
  const GemmProblem& problem;  // valid, residency resolved
  const GemmOptions& options;
  bool may_compile = true;      // GPU kernels; else only what is in memory or on disk serves
  bool shares_configs = false;  // without a record, the default of a problem of about this size serves
};

// Why an offer that was taken up came to nothing; what says the most of why comes last.
enum class Refusal : std::uint8_t {
  none,
  slower,        // another config would do better
  declined,      // it cannot be made here
  no_memory,     // nor is there memory for it
  not_compiled,  // it is not compiled yet, and a call may not
};

struct Made {
  std::shared_ptr<const Runner> runner;  // null where it was refused
  // Of a runner: not_compiled where a part is left out for that reason.
  Refusal refusal = Refusal::none;
  std::string reason = {};  // of the refusal
  std::string notice = {};  // what the user should know of the runner; "" for nothing
};

struct Offer {
  // What one problem of the batch takes, where that is known: recorded of it, or of one near it and scaled by
  // operations, or forecast.
  std::optional<double> seconds;
  std::optional<double> joules;
  double error = 0;    // of a forecast: the standard deviation of its logarithm
  WisdomAnswer known;  // the record; of match none: where the config comes from
  // Whether it runs with a config that wants to be measured for the problem, and not with a choice of its
  // own.
  bool has_config = false;
  std::string forecast;        // of its seconds and of others', in words; "" for none
  std::string unusable;        // what the nearest record lacks, where it is not used for the seconds
  std::function<Made()> make;  // may throw Error(unsupported) or Error(out_of_memory) instead of refusing
};

// The next best offer of a candidate; empty when there are no more. The next is asked for where the one
// before came to nothing.
using Offers = std::function<std::optional<Offer>()>;

// Within a tier costs decide, else the order of the list; those of an earlier tier always go first. What
// small kernels were measured to take, in batches that fill a device, cannot be compared with what others
// take.
enum class Tier : std::uint8_t {
  no_product,  // what is left without one; asked whichever candidate is wanted
  node,        // CPU and GPUs as models of the whole machine say, which have compared them with the CPU alone
  small,
  large,
  any,  // slow, but serves all
};

struct Candidate {
  const char* name;
  Tier tier;
  // Why it cannot serve the problem; "" when it can.
  std::string (*declines)(const PlanRequest& request);
  // Null for candidates that always decline. What throws Error(unsupported) declines as well.
  Offers (*offers)(const PlanRequest& request) = nullptr;
  // What it forms products in; calls of another mode are not its.
  MathMode math_mode = MathMode::full;
  // Whether products of a batch may have one C.
  bool forms_sums = false;
};

// What runs without a record: where its config comes from.
inline WisdomAnswer no_record(std::string source) {
  WisdomAnswer none;
  none.source = std::move(source);
  return none;
}

// Of a candidate that has but one.
inline Offers one_offer(Offer offer) {
  return [offer = std::optional(std::move(offer))]() mutable { return std::exchange(offer, std::nullopt); };
}
// And knows nothing of what it costs.
template <class MakeRunner>
Offers one_runner(MakeRunner make_runner) {
  Offer offer;
  offer.make = [make_runner] { return Made{make_runner()}; };
  return one_offer(std::move(offer));
}

}  // namespace tilewright
