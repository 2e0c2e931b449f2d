// Interleaved timing: in every round each contender has one turn, in an order that changes, so that whatever
// the machine does meanwhile (clock, neighbours, temperature) meets all of them alike. It times what it is
// given; whether results are right was settled before, and how a turn is timed is a machine's.
#pragma once

#include <limits>

#include "bench/contender.hpp"

namespace tilewright::bench {

struct RoundRules {
  int rounds = 11;
  int screening = 3;         // rounds in which all take part
  double drop_factor = 1.2;  // further behind the best of its role than this: dropped after screening
  // A few samples of who takes longer than this say enough.
  double slow_s = std::numeric_limits<double>::infinity();
  int slow_rounds = 0;
  // Before each turn, spent at work, so that threads of the one before, which spin in wait for more, are
  // asleep and this one's core is not.
  double pause_s = 0;
};

// Of calls of milliseconds to seconds in which the CPU's threads and GPUs take part.
RoundRules rules_of_long_turns(int rounds);

// Appends to everybody's `rounds` what turn(contender) says and estimates `seconds`. Loops come last in a
// round. Ours are never dropped; those that are keep the samples they have.
void hold_rounds(std::vector<Contender>& contenders, const std::function<double(Contender&)>& turn,
                 const RoundRules& rules);

}  // namespace tilewright::bench
