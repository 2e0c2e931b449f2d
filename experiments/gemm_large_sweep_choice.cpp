// Draws configs, covers the values of axes, and fills strata.
#include <algorithm>
#include <random>

#include "gemm_large_sweep.hpp"
#include "ladder.hpp"

namespace tilewright::bench {
namespace {

using C = GemmLargeConfig;

constexpr std::size_t draws_per_config = 20;
constexpr std::size_t least_of_a_value = 5;  // so that a value remains if some configs spill
constexpr double slowest = 10;               // times the fastest predicted; slower ones only for their values

class Chooser {
 public:
  Chooser(const GemmProblem& p, const GemmLargeShape& s, const GemmLargeDevice& limits, std::size_t count)
      : p_(p), s_(s), limits_(limits), count_(count), space_(gemm_large_space(p, s, limits)) {}

  void add_rules_of_thumb() {
    for (const C& c : gemm_large_promising(p_, s_, limits_, count_ / 8)) take(c);
    for (const C& c : gemm_large_defaults(p_, s_, limits_)) take(c);
    for (const GemmLargeStep& step : gemm_large_ladder(p_, s_, limits_)) take(step.config);
    fastest_ = cycles(choice_.configs.front());
  }
  void draw(unsigned seed) {
    std::mt19937 random(seed);
    drawn_ = space_.sample(draws_per_config * count_, random);
    // Likely configs come first, so that a value is covered by a config worth measuring if there is one.
    std::stable_partition(drawn_.begin(), drawn_.end(),
                          [&](const C& c) { return cycles(c) < slowest * fastest_; });
    choice_.values = axis_values(drawn_);
  }
  void cover() {
    std::map<std::string, std::size_t> counts;
    for (const C& c : choice_.configs) add_values(c, counts);
    for (const C& c : drawn_) {
      if (choice_.configs.size() >= count_) return;
      std::map<std::string, std::size_t> own;
      add_values(c, own);
      const bool rare = std::any_of(
          own.begin(), own.end(), [&](const auto& value) { return counts[value.first] < least_of_a_value; });
      if (rare && take(c)) add_values(c, counts);
    }
  }
  void fill() {
    std::map<std::pair<int, int>, std::vector<C>> strata;
    for (const C& c : drawn_)
      if (cycles(c) < slowest * fastest_) strata[{int(c.product), int(c.load)}].push_back(c);
    for (std::size_t turn = 0, left = 1; left > 0 && choice_.configs.size() < count_; ++turn) {
      left = 0;
      for (const auto& [key, configs] : strata)
        if (turn < configs.size() && choice_.configs.size() < count_) {
          take(configs[turn]);
          ++left;
        }
    }
  }
  SweepChoice result() && { return std::move(choice_); }

 private:
  double cycles(const C& c) const { return gemm_large_cost(p_, s_, c, limits_).cycles(); }
  bool take(const C& c) {
    if (!space_.contains(c) || !known_.insert(describe(c)).second) return false;
    choice_.configs.push_back(c);
    return true;
  }
  static void add_values(const C& c, std::map<std::string, std::size_t>& counts) {
    const auto fields = to_json(c);
    for (const auto& item : fields.items()) ++counts[item.key() + "=" + item.value().dump()];
  }

  const GemmProblem& p_;
  const GemmLargeShape& s_;
  const GemmLargeDevice& limits_;
  std::size_t count_;
  Space<C> space_;
  double fastest_ = 0;
  std::vector<C> drawn_;
  std::set<std::string> known_;
  SweepChoice choice_;
};

}  // namespace

AxisValues axis_values(const std::vector<GemmLargeConfig>& configs) {
  AxisValues values;
  for (const GemmLargeConfig& config : configs) {
    const auto fields = to_json(config);
    for (const auto& item : fields.items()) values[item.key()].insert(item.value().dump());
  }
  return values;
}

std::string missing_values(const AxisValues& all, const AxisValues& some) {
  std::string text;
  for (const auto& [axis, values] : all)
    for (const std::string& value : values) {
      const auto found = some.find(axis);
      if (found == some.end() || found->second.count(value) == 0)
        text += fmt::format("{}{}={}", text.empty() ? "" : ", ", axis, value);
    }
  return text;
}

SweepChoice choose_sweep(const GemmProblem& problem, const GemmLargeShape& shape,
                         const GemmLargeDevice& limits, std::size_t count, unsigned seed) {
  Chooser chooser(problem, shape, limits, count);
  chooser.add_rules_of_thumb();
  chooser.draw(seed);
  chooser.cover();
  chooser.fill();
  return std::move(chooser).result();
}

}  // namespace tilewright::bench
