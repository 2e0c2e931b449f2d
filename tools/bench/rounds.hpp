// Interleaved timing: in every round each contender has one sample, in an order that changes, so that changes
// of the machine (clock, neighbours, temperature) affect all of them alike. Results were checked before, and
// the machine decides how a sample is timed.
#pragma once

#include <limits>

#include "bench/contender.hpp"

namespace tilewright::bench {

struct RoundRules {
  int rounds = 11;
  int screening = 3;  // rounds in which all take part
  // A contender slower than the best of its role by this factor is dropped after screening.
  double drop_factor = 1.2;
  // A few samples suffice for contenders slower than this.
  double slow_s = std::numeric_limits<double>::infinity();
  int slow_rounds = 0;
  // Busy work before each sample, so that threads of the previous contender, which spin while they wait, fall
  // asleep and this contender's core does not.
  double pause_s = 0;
};

// Rules for calls of milliseconds to seconds in which the CPU's threads and GPUs take part.
RoundRules rules_of_long_turns(int rounds);

// Appends turn(contender) to every contender's `rounds` and estimates `seconds`. Loops come last in a round.
// Contenders of tilewright are never dropped; those that are dropped keep their samples.
void hold_rounds(std::vector<Contender>& contenders, const std::function<double(Contender&)>& turn,
                 const RoundRules& rules);

}  // namespace tilewright::bench
