// What a search counts its budget by: all the time that passes, or the turns alone, each as long as it was
// meant to be.
#pragma once

#include <functional>
#include <memory>

#include "measure/clock.hpp"

namespace tilewright {

struct BudgetClock {
  std::function<double()> now = wall_seconds;                    // in seconds
  std::function<void(double)> count = [](double /*turn_s*/) {};  // told of each turn that was measured

  // Neither compiling nor checking counts, nor what else the machine does: however busy it is, the same
  // budget is as many turns.
  static BudgetClock of_turns() {
    const auto counted = std::make_shared<double>(0);
    return {[counted] { return *counted; }, [counted](double turn_s) { *counted += turn_s; }};
  }
};

}  // namespace tilewright
