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

class DummyPool : public ConfigPool {
 public:
  explicit DummyPool(std::vector<DummyConfig> configs) : configs_(std::move(configs)) {}
  std::size_t size() const override { return configs_.size(); }
  nlohmann::json fields(std::size_t i) const override { return to_json(configs_[i]); }
  Origin origin() const override { return {"dummy", "a machine", "", "", "", "nobody"}; }
  void announce(std::span<const std::size_t>) override {}
  bool is_right(std::size_t) override { return true; }
  const std::string& failure(std::size_t) const override { return failure_; }
  const Accuracy& accuracy(std::size_t) const override { return accuracy_; }
  void set_failure(std::size_t, std::string) override {}
  void set_passed(std::size_t, const Accuracy&) override {}
  // The fewer the units beyond 5, the faster; nothing is waited for.
  TurnTimer::Turn time(std::size_t i, double) override {
    return {1e-6 * (1 + 0.1 * std::abs(configs_[i].units - 5)), 1};
  }

 private:
  std::vector<DummyConfig> configs_;
  std::string failure_;
  Accuracy accuracy_{0, 1};
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
    return {.timed = problem,
            .pool = std::make_unique<DummyPool>(std::move(choice.configs)),
            .incumbent = choice.incumbent};
  }
};

inline const TuneFamily& dummy_family() {
  static const DummyFamily family;
  return family;
}

}  // namespace tilewright
