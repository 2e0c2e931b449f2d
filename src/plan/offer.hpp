// The words of planning that do not depend on what is computed: what an offer is expected to cost and how
// well that is known, which of two offers goes before the other, and what is said of all in the end.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/objective.hpp"
#include "wisdom/wisdom.hpp"

namespace tilewright {

// Why an offer that was taken up came to nothing; what says the most of why comes last.
enum class Refusal : std::uint8_t {
  none,
  slower,        // another config would do better
  declined,      // it cannot be made here
  no_memory,     // nor is there memory for it
  not_compiled,  // it is not compiled yet, and a call may not
};

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

// The demands of a caller on whoever serves the call.
struct Asked {
  std::string_view candidate;    // "": anybody
  std::string_view config = "";  // of the caller's own, as JSON: nobody may leave it out; "" for none
  TuneObjective objective = {};
};

// The answer of one candidate about the problem.
struct Decision {
  std::string candidate;
  bool accepted = false;
  std::string reason;
};

// The cost that an offer expects, whatever it would run.
struct CostEstimate {
  // The seconds that one problem of the batch takes, where that is known: recorded of it, or of one near it
  // and scaled by operations, or forecast.
  std::optional<double> seconds;
  std::optional<double> joules;
  double error = 0;    // of a forecast: the standard deviation of its logarithm
  WisdomAnswer known;  // the record; of match none: where the config comes from
  // True if it runs with a config that is worth measuring for the problem, and not with a choice of its own.
  bool has_config = false;
  std::string forecast;  // of its seconds and of others', in words; "" for none
  std::string unusable;  // what the nearest record lacks, where it is not used for the seconds
};

// True if `later`, of a candidate behind that of `first` in the list, goes before it:
//   what is known goes before what is not, and a choice of its own before a config that nobody has measured;
//   what is known of this device goes before what is known of another, and those of two others are not
//   compared;
//   what was measured of this very problem outweighs what a config took of another one;
//   else the one that costs less by the call's objective, or by time where not both were searched for that.
bool goes_before(const TuneObjective& objective, const CostEstimate& later, const CostEstimate& first);

// Why an offer goes after the one of `winner` that was taken.
std::string why_after(const char* winner, const CostEstimate& taken, const CostEstimate& offer);

// Throws Error(invalid_argument): none of these is the candidate that was asked for.
[[noreturn]] void refuse_candidate(const std::string& asked, const std::vector<const char*>& names);

// Says who computes a problem, why others do not, and what is known of it: kept by plans, printed by explain,
// and joined into the errors of problems that nobody serves.
struct Explanation {
  std::string asked;                // the problem in words, as it was asked for
  std::string candidate;            // that serves it; "": none does
  std::vector<Decision> decisions;  // of those that were asked, in the order of the list
  WisdomAnswer known;               // the record that decided; of match none: where the config comes from
  std::string passed_record;        // which near record does not serve and why; "" for none
  std::string passed_over;          // why no_jit kept a better kernel from it; "" where it did not
  std::vector<std::string> notices;
  // The next two are set by operations whose plans are explained once, when they are made.
  std::string does;                   // by the candidate with the problem, in words
  std::optional<double> predicted_s;  // by models, where there are any

  // "lapack: ...; blocked: ...", of all that decline.
  std::string reasons() const;
  // Returns the reason that `name` gave, else all reasons.
  std::string reason_of(const std::string& name) const;
};

// Returns the answer of a config without a record: it says where the config comes from.
inline WisdomAnswer no_record(std::string source) {
  WisdomAnswer none;
  none.source = std::move(source);
  return none;
}

}  // namespace tilewright
