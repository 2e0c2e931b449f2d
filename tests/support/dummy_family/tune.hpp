// The dummy family as the tuner knows it: plain waiting, for as long as its config says.
#pragma once

#include "support/dummy_family/family.hpp"
#include "tune/family/family.hpp"

namespace tilewright {

inline constexpr SearchPace dummy_pace{.shortest_turn_s = 1e-6,
                                       .longest_screening_s = 1e-6,
                                       .longest_halving_s = 1e-6,
                                       .longest_final_s = 1e-6,
                                       .strategy_share = 0.5,
                                       .halving_share = 0.7,
                                       .incumbent_tie = 0.03};

class DummyPool : public PoolOf<DummyConfig> {
 public:
  using PoolOf::PoolOf;
  Origin origin() const override { return {dummy_name, dummy_device, "", "", dummy_source, "nobody"}; }

 private:
  CheckResult check(std::size_t) override { return {"", {0, 1}}; }
  // The fewer the units beyond 5, the faster; nothing is waited for.
  TurnTimer::Turn time_made(std::size_t i, double) override {
    return {1e-6 * (1 + 0.1 * std::abs(configs_[i].units - 5)), 1};
  }
};

// Serves what no other family does: f32 on the host above a size of 64.
class DummyFamily : public FamilyOf<DummyConfig> {
 public:
  using FamilyOf::FamilyOf;
  std::optional<Decline> declines(const GemmProblem& p) const override {
    if (dummy_serves(p)) return std::nullopt;
    return Decline{.argument = "problem", .reason = "no dummy serves it", .elsewhere = true};
  }
  OpenProblem open(const GemmProblem& problem, const ChoiceRules& rules, TuneMachine&,
                   double) const override {
    Space<DummyConfig> space;
    space.axis(&DummyConfig::units, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16});
    auto choice = choose_configs(problem, rules, DummyConfig{}, space, {100, 100, 0},
                                 [&](std::size_t) { return space.enumerate(); });
    return {.subject = to_string(problem),
            .pool = std::make_unique<DummyPool>(std::move(choice.configs)),
            .incumbent = choice.incumbent};
  }
};

inline const TuneFamily& dummy_family() {
  static const DummyFamily family("dummy", dummy_pace);
  return family;
}

}  // namespace tilewright
