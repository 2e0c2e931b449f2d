// One case measured: ours and its peers are checked, then timed in turn with the loops that bound them.
#pragma once

#include "bench/machine.hpp"

namespace tilewright::bench {

// Throws Error(internal) when ours is wrong, and what planning the case throws. With plan.check_only nothing
// is timed.
CaseResult run_case(Machine& machine, const Case& c);

// Checks everybody and takes those that are wrong or fail out, into `absences`. Throws where that is ours.
void check_all(const Stage& stage, const Case& c, std::vector<Contender>& contenders,
               std::vector<Absence>& absences);

}  // namespace tilewright::bench
