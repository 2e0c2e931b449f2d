// A contest between an incumbent and challengers, decided by ratios taken within rounds: each round times the
// incumbent first and last and every challenger once between, in random order. A round in which the incumbent
// drifted is discarded and repeated.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "core/estimate.hpp"

namespace tilewright {

// With fewer than six samples a median has no interval of 95 %: its ends are the extremes and say less.
inline constexpr int least_paired_rounds = 6;

struct ContestRules {
  int least_rounds = least_paired_rounds;  // with fewer rounds nothing is decided and the incumbent stays
  int most_rounds = 41;
  // The incumbent is replaced only by a challenger better by more than this, and by more than the spread.
  double tie = 0.03;
  std::uint64_t seed = 1;
  // Called after the last round: returns true if a contestant may win at all; empty: all may. If the
  // incumbent may not, the best permitted contestant wins without having to be clearly better.
  std::function<bool(std::size_t)> may_win;
};

struct Verdict {
  std::size_t winner = 0;  // 0 is the incumbent
  // Challengers that are neither clearly better nor clearly worse than the winner.
  std::vector<std::size_t> ties;
  // Ratios of each contestant's cost to the incumbent's in the same round; no samples if nothing was timed.
  std::vector<Estimate> ratios;
  double spread = 0;  // median difference of the incumbent between the two ends of a round
  int rounds = 0;
  int discarded = 0;     // rounds in which the sentinel drifted
  bool decided = false;  // true if there were enough rounds to decide
};

// `measure(i)` times contestant i once. Stops after the most rounds, or if `more()` is false before one.
Verdict hold_contest(std::size_t contestants, const std::function<double(std::size_t)>& measure,
                     const std::function<bool()>& more, const ContestRules& rules);

}  // namespace tilewright
