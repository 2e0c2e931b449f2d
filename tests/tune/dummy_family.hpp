// A family of "kernels" for the CPU that is nobody's: plain waiting, for as long as its config says. It shows
// what a family has to bring, and is listed by the test alone.
#pragma once

#include "tune/family/family.hpp"

namespace tilewright {

struct DummyConfig {
  int units = 8;
  friend bool operator==(const DummyConfig&, const DummyConfig&) = default;
};
template <>
struct FieldList<DummyConfig> {
  static constexpr auto value = std::make_tuple(field("units", &DummyConfig::units));
};

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
  Origin origin() const override { return {"dummy", "a machine", "", "", "", "nobody"}; }

 private:
  CheckResult check(std::size_t) override { return {"", {0, 1}}; }
  // The fewer the units beyond 5, the faster; nothing is waited for.
  TurnTimer::Turn time_made(std::size_t i, double) override {
    return {1e-6 * (1 + 0.1 * std::abs(configs_[i].units - 5)), 1};
  }
};

// Serves what no other family does: f32 on the host above a size of 64.
class DummyFamily : public TuneFamily {
 public:
  const char* name() const override { return "dummy"; }
  const SearchPace& pace() const override { return dummy_pace; }
  std::string source_hash() const override { return ""; }
  std::string architecture(const TuneMachine&) const override { return ""; }
  void check_axes(const AxisRules& rules) const override { tilewright::check_axes<DummyConfig>(rules); }
  std::optional<Decline> declines(const GemmProblem& p) const override {
    if (p.dtype == DType::f32 && p.location == Location::host && p.m > 64) return std::nullopt;
    return Decline{.argument = "problem", .reason = "no dummy serves it", .elsewhere = true};
  }
  OpenProblem open(const GemmProblem& problem, const ChoiceRules& rules, TuneMachine&,
                   double) const override {
    Space<DummyConfig> space;
    space.axis(&DummyConfig::units, range(1, 16));
    auto choice = choose_configs(problem, rules, DummyConfig{}, space, {100, 100, 0},
                                 [&](std::size_t) { return space.enumerate(); });
    return {.subject = to_string(problem),
            .pool = std::make_unique<DummyPool>(std::move(choice.configs)),
            .incumbent = choice.incumbent};
  }
};

inline const TuneFamily& dummy_family() {
  static const DummyFamily family;
  return family;
}

}  // namespace tilewright
