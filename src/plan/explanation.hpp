// Who computes a problem, why others do not, and what is known of it: kept by plans, printed by explain, and
// joined into the errors of problems that nobody serves.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "plan/offer.hpp"

namespace tilewright {

struct Explanation {
  std::string asked;                // the problem in words, as it was asked for
  std::string candidate;            // that serves it; "": none does
  std::vector<Decision> decisions;  // of those that were asked, in the order of the list
  WisdomAnswer known;               // the record that decided; of match none: where the config comes from
  std::string passed_record;        // which near record does not serve and why; "" for none
  std::string passed_over;          // why no_jit kept a better kernel from it; "" where it did not
  std::vector<std::string> notices;
  // Of operations whose plans are explained once, when they are made.
  std::string does;                   // by the candidate with the problem, in words
  std::optional<double> predicted_s;  // by models, where there are any

  // "lapack: ...; blocked: ...", of all that decline.
  std::string reasons() const;
  // What `name` said, else what all did.
  std::string reason_of(const std::string& name) const;
};

}  // namespace tilewright
