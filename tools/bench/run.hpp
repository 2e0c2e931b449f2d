// Measures one case: tilewright and its peers are checked, then timed in alternation with the loops that
// bound them.
#pragma once

#include "bench/machine.hpp"

namespace tilewright::bench {

// Throws Error(internal) if tilewright's result is wrong, and the errors of planning the case. With
// plan.check_only nothing is timed.
CaseResult run_case(Machine& machine, const Case& c);

// Checks all contenders and moves those that are wrong or fail to `absences`. Throws if tilewright is among
// them.
void check_all(const Stage& stage, const Case& c, std::vector<Contender>& contenders,
               std::vector<Absence>& absences);

}  // namespace tilewright::bench
