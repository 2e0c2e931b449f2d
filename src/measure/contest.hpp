// A contest between an incumbent and challengers, decided by ratios taken within rounds: each round times the
// incumbent first and last and every challenger once between, in an order shuffled anew. The incumbent is
// the sentinel: a round in which it drifted says nothing and is run again. It compares costs it is handed and
// knows no kernels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "measure/estimate.hpp"

namespace tilewright {

// Below six samples a median has no interval of 95 %: its ends are the extremes and say less.
inline constexpr int least_paired_rounds = 6;

struct ContestRules {
  int least_rounds = least_paired_rounds;  // after fewer nothing is decided and the incumbent stays
  int most_rounds = 41;
  // The incumbent yields only to a challenger better by more than this, and by more than the spread.
  double tie = 0.03;
  std::uint64_t seed = 1;
  // Asked when the rounds are over: whether a contestant may win at all. Where the incumbent may not, the
  // best that may takes its place without having to be clearly better. Empty: all may.
  std::function<bool(std::size_t)> may_win;
};

struct Verdict {
  std::size_t winner = 0;  // 0 is the incumbent
  // Challengers that are neither clearly better nor clearly worse than the winner.
  std::vector<std::size_t> ties;
  // Of each contestant's cost to the incumbent's in the same round; empty samples when nothing was timed.
  std::vector<Estimate> ratios;
  double spread = 0;  // of the incumbent between the two ends of a round: the half that lies below this
  int rounds = 0;
  int discarded = 0;     // rounds in which the sentinel drifted
  bool decided = false;  // there were rounds enough to tell
};

// `turn(i)` times contestant i once. Rounds go on until the rules' most, or until `more()` is false at the
// beginning of one.
Verdict hold_contest(std::size_t contestants, const std::function<double(std::size_t)>& turn,
                     const std::function<bool()>& more, const ContestRules& rules);

}  // namespace tilewright
