// The parts of planning that do not depend on the operation: the estimated cost of an offer and its source,
// the comparison of two offers, and the explanation of the choice.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/objective.hpp"
#include "wisdom/wisdom.hpp"

namespace tilewright {

// Why an accepted offer could not be built, in the order of how much that tells the user.
enum class Refusal : std::uint8_t {
  none,
  slower,        // another config would do better
  declined,      // it cannot be built here
  no_memory,     // there is no memory for it
  not_compiled,  // it is not compiled yet, and calls may not compile
};

// Earlier tiers come first. Within a tier costs decide, else the order of the list: small kernels were
// measured in batches that fill a device, which does not compare with other implementations.
enum class Tier : std::uint8_t {
  no_product,  // nothing is multiplied, only C is scaled; asked even if the caller names another candidate
  node,        // CPU and GPUs together; the machine's models have compared them with the CPU alone
  small,
  large,
  any,  // slow, but serves all problems
};

// The caller's demands.
struct Asked {
  std::string_view candidate;    // "": any
  std::string_view config = "";  // as JSON, which every candidate must use; "" for none
  TuneObjective objective = {};
};

// The answer of one candidate about the problem.
struct Decision {
  std::string candidate;
  bool accepted = false;
  std::string reason;
  std::optional<double> seconds =
      {};            // of one problem of the batch, if the candidate knows or forecasts them
  double error = 0;  // the standard deviation of their logarithm
};

// The estimated cost of an offer.
struct CostEstimate {
  // The cost of one problem of the batch, if known: recorded, scaled from a near record, or forecast.
  std::optional<double> seconds;
  std::optional<double> joules;
  double error = 0;    // the standard deviation of the logarithm of `seconds`; 0 for a measurement
  WisdomAnswer known;  // the record; of match none: where the config comes from
  // True if its config is tunable for this problem (looked up in wisdom).
  bool has_config = false;
  std::string unusable;          // why the nearest record is not used for the seconds; "" if it is
  const char* family = nullptr;  // of records of what it runs; null if wisdom keeps none

  // The mean of the distribution whose median is `seconds`, which must be known.
  double expected_s() const;
};

// True if `later`, of a candidate behind that of `first` in the list, is preferred:
//   a known cost is preferred to an unknown one, and an untunable choice to a config that was never measured;
//   a cost measured on this device is preferred to another device's, and those of two others are not
//   compared; otherwise the lower expected cost by the call's objective wins, or the shorter expected time if
//   not both were searched for it. Equal ones keep the order of the list.
bool is_preferred(const TuneObjective& objective, const CostEstimate& later, const CostEstimate& first);

// Returns why the offer of `winner` was preferred to this one.
std::string why_after(const char* winner, const CostEstimate& taken, const CostEstimate& offer);

// Returns the name of a candidate that version 0.1 called `asked`, else `asked`. The old names are accepted
// until 0.3.
std::string_view current_candidate(std::string_view asked);

// Throws Error(invalid_argument): the caller's candidate is not one of these.
[[noreturn]] void refuse_candidate(const std::string& asked, const std::vector<const char*>& names);

// The candidate that serves a problem, why the others do not, and the record behind the choice: kept by
// plans, printed by explain, and joined into the errors of problems that no candidate serves.
struct Explanation {
  std::string asked;                // the problem as the caller gave it, in words
  std::string candidate;            // that serves it; "": none
  std::vector<Decision> decisions;  // of the candidates that were asked, in the order of the list
  WisdomAnswer known;               // the record that decided; of match none: where the config comes from
  std::string passed_record;        // the nearest record that is not used, and why; "" for none
  std::string passed_over;          // why no_jit prevented a better kernel; "" if it did not
  std::vector<std::string> notices;
  // Set by operations whose plans are explained once, when they are made.
  std::string does;                   // how the candidate computes the problem
  std::optional<double> predicted_s;  // by models, if there are any

  // "lapack: ...; blocked: ...", of all that decline.
  std::string reasons() const;
  // A line for each candidate, that which serves the problem first: "  blocked: taken; panels of nb=48" or
  // "  lapack: not taken; ...".
  std::string decisions_text() const;
  // Returns the reason that `name` gave, else all reasons.
  std::string reason_of(const std::string& name) const;
};

// The answer for a config without a record; `source` is where the config comes from.
inline WisdomAnswer no_record(std::string source) {
  WisdomAnswer none;
  none.source = std::move(source);
  return none;
}

}  // namespace tilewright
