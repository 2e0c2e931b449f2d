// Restrictions of a search by axis: lists of values, and comparisons. Axes are field names of any family's
// configs.
#pragma once

#include <fmt/format.h>

#include <random>
#include <span>
#include <string>
#include <unordered_set>
#include <vector>

#include "core/json.hpp"
#include "core/problem.hpp"
#include "kernel/space.hpp"

namespace tilewright {

// Only configs whose `axis` has one of these values are tried.
struct AxisChoice {
  std::string axis;
  std::vector<nlohmann::json> values;
};

// Only configs whose `axis` compares so are tried: "nr>=4", "tail!=mask".
struct AxisCondition {
  std::string axis, relation;  // >= <= != = > <
  nlohmann::json value;

  static AxisCondition parse(const std::string& text);
  bool allows(const nlohmann::json& value_of_axis) const;
};

struct AxisRules {
  bool whole_space = false;  // search the whole space or a sample, not the promising configs
  std::vector<AxisChoice> choices;
  std::vector<AxisCondition> conditions;

  // For the head of a log.
  nlohmann::json as_json() const;
  // True if a config fulfils all conditions.
  bool admit(const nlohmann::json& fields) const;
  // True if the axis is restricted; true if it may have the value.
  bool speak_of(const std::string& axis) const;
  bool allow(const std::string& axis, const nlohmann::json& value) const;
};

[[noreturn]] void refuse_empty_search(const AxisRules& rules, const GemmProblem& problem);

// `config` with another value of one axis. Throws Error(invalid_argument) naming `flag`, axis and value.
template <class Config>
Config with_axis(const char* flag, const std::string& axis, const nlohmann::json& value,
                 const Config& config = {}) {
  try {
    return from_json<Config>({{axis, value}}, config);
  } catch (const Error& error) {
    throw Error(ErrorCode::invalid_argument, flag,
                fmt::format("{} {}: value {}: {}", flag, axis, value.dump(), error.what()));
  }
}

// Throws Error(invalid_argument) naming an axis that does not exist or a value of the wrong type.
template <class Config>
void check_axes(const AxisRules& rules) {
  for (const AxisChoice& choice : rules.choices)
    for (const auto& value : choice.values) with_axis<Config>("--set", choice.axis, value);
  for (const AxisCondition& condition : rules.conditions)
    with_axis<Config>("--where", condition.axis, condition.value);
}

// Visits `config` with every combination of the chosen values.
template <class Config, class Visit>
void with_choices(const Config& config, std::span<const AxisChoice> choices, Visit&& visit) {
  if (choices.empty()) return visit(config);
  for (const auto& value : choices.front().values)
    with_choices(with_axis("--set", choices.front().axis, value, config), choices.subspan(1), visit);
}

template <class Config>
Space<Config> restricted(Space<Config> space, const AxisRules& rules) {
  for (const std::string& axis : space.axis_names())
    if (rules.speak_of(axis))
      space.restrict_axis(axis, [axis, rules](const Config& config) {
        return rules.allow(axis, field_to_json(config, axis));
      });
  return space;
}

// The default first, then the searched configs that rules and space admit. If the rules leave fewer than
// `fewest`, more are drawn from the restricted space.
template <class Config>
std::vector<Config> admitted_configs(const GemmProblem& problem, const AxisRules& rules,
                                     const Config& standard, const std::vector<Config>& searched,
                                     const Space<Config>& space, std::size_t fewest = 0) {
  std::vector<Config> configs = {standard};
  std::unordered_set<std::string> known;
  const auto add = [&](const Config& config) {
    if (!rules.admit(to_json(config)) || !space.contains(config)) return;
    if (known.insert(describe(config)).second && config != standard) configs.push_back(config);
  };
  with_choices(standard, std::span(rules.choices), add);
  for (const Config& point : searched) with_choices(point, std::span(rules.choices), add);
  if (rules.choices.empty() && rules.conditions.empty()) return configs;
  if (known.size() < fewest) {
    std::mt19937_64 random(1);
    for (const Config& point : restricted(space, rules).sample(fewest - known.size(), random))
      with_choices(point, std::span(rules.choices), add);
  }
  if (known.empty()) refuse_empty_search(rules, problem);
  return configs;
}

}  // namespace tilewright
