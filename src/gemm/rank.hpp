// Who computes a problem: asks the candidates, compares what they offer, and takes up the best offer that
// comes to something. The comparison is one function; what each candidate can do stands in its own file.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "gemm/candidate.hpp"

namespace tilewright {

// Whether `later`, of a candidate behind that of `first` in the list, goes before it:
//   what is known goes before what is not, and a choice of its own before a config that nobody has measured;
//   what is known of this device goes before what is known of another, and those of two others are not
//   compared;
//   what was measured of this very problem outweighs what a config took of another one;
//   else the one that costs less by the call's objective, or by time where not both were searched for that.
bool goes_before(const PlanRequest& request, const Offer& later, const Offer& first);

// What one candidate said about the problem.
struct Decision {
  std::string candidate;
  bool accepted = false;
  std::string reason;
};

struct Ranking {
  const Candidate* winner = nullptr;  // null where none serves
  Made made;                          // of the winner
  Offer offer;
  std::vector<Decision> decisions;  // in the order of the list
  std::string not_compiled;         // why no_jit kept a better kernel from it; "" where it did not
};

// Throws Error for a config that was asked for and cannot be had.
Ranking rank(const PlanRequest& request, std::span<const Candidate> candidates);

}  // namespace tilewright
