// The choice of configs to search, for a family of any config struct: the default first, then the promising
// configs, the whole space or one axis, as far as rules allow, then those of earlier runs and the incumbent.
#pragma once

#include <algorithm>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "tune/axis_rules.hpp"

namespace tilewright {

struct ChoiceRules : AxisRules {
  std::size_t most = 0;                     // configs searched; 0: the family's number
  std::string vary;                         // search only the values of this axis of the best known config
  std::vector<nlohmann::json> seeds;        // further candidates, from earlier runs
  std::optional<nlohmann::json> incumbent;  // the best config known before: stays unless clearly beaten
  bool incumbent_only = false;              // search nothing but incumbent and default

  nlohmann::json as_json() const {
    auto json = AxisRules::as_json();
    json.update({{"whole_space", whole_space}, {"most", most}, {"vary", vary}});
    return json;
  }
};

// Numbers of configs that a family searches: promising ones, all, and at least with restricted axes.
struct ChoiceSizes {
  std::size_t standard, whole, fewest;
};

template <class Config>
struct ChosenConfigs {
  std::vector<Config> configs;
  std::optional<std::size_t> incumbent;  // its place; empty if there is none or it is illegal
};

// The config of a record; nullopt if this build lacks its fields.
template <class Config>
std::optional<Config> config_of(const nlohmann::json& fields) {
  try {
    return from_json<Config>(fields);
  } catch (const Error&) {
    return std::nullopt;
  }
}

// `base` with each legal value of one axis; if a value is illegal with the base's `yields` axis, that axis
// takes the next smaller legal value. Throws Error(invalid_argument) for an axis that does not exist.
template <class Config>
std::vector<Config> configs_along(Space<Config> space, const std::string& axis, const Config& base,
                                  const std::string& yields) {
  const auto names = space.axis_names();
  if (std::find(names.begin(), names.end(), axis) == names.end())
    throw Error(ErrorCode::invalid_argument, "--vary",
                fmt::format("--vary = '{}' is not one of {}", axis, fmt::join(names, ", ")));
  for (const std::string& name : names)
    if (name != axis && name != yields)
      space.restrict_axis(name, [name, own = field_to_json(base, name)](const Config& config) {
        return field_to_json(config, name) == own;
      });
  const auto yielded = [&](const Config& c) {
    return yields.empty() || yields == axis ? nlohmann::json(0) : field_to_json(c, yields);
  };
  const nlohmann::json most = yielded(base);
  std::vector<Config> along;
  space.visit(
      [&](const Config& config) {
        if (yielded(config) > most) return;
        const auto same_value = [&](const Config& c) {
          return field_to_json(c, axis) == field_to_json(config, axis);
        };
        const auto known = std::find_if(along.begin(), along.end(), same_value);
        if (known == along.end())
          along.push_back(config);
        else if (yielded(config) > yielded(*known))
          *known = config;
      },
      base);
  return along;
}

// All legal configs, or `count` random ones if they are more. `removed` receives the cuts of each constraint.
template <class Config>
std::vector<Config> walked_or_drawn(const Space<Config>& space, const AxisRules& rules, std::size_t count,
                                    const Config& base, std::vector<Removed>* removed) {
  std::vector<Config> configs;
  const auto keep = [&](const Config& config) {
    if (rules.conditions.empty() || rules.admit(to_json(config))) configs.push_back(config);
    return configs.size() <= count;
  };
  if (space.visit(keep, base, removed)) return configs;
  std::mt19937_64 random(1);
  return space.sample(count, random, base);
}

// `promising(count)` returns promising configs, the best first if the family can tell. Throws
// Error(invalid_argument) naming an axis or value that does not exist, or if no config remains.
template <class Config, class Promising>
ChosenConfigs<Config> choose_configs(const GemmProblem& problem, const ChoiceRules& rules,
                                     const Config& standard, const Space<Config>& space,
                                     const ChoiceSizes& sizes, Promising&& promising,
                                     std::vector<Removed>* removed = nullptr,
                                     const std::string& yields = "") {
  check_axes<Config>(rules);
  std::vector<Config> seeds;
  for (const nlohmann::json& fields : rules.seeds)
    if (const auto seed = config_of<Config>(fields); seed && space.contains(*seed)) seeds.push_back(*seed);
  std::optional<Config> known;
  if (rules.incumbent) known = config_of<Config>(*rules.incumbent);
  if (known && *known != standard && !space.contains(*known)) known.reset();

  ChosenConfigs<Config> choice{{standard}, std::nullopt};
  if (!rules.vary.empty()) {
    const Config& base = known ? *known : seeds.empty() ? standard : seeds.front();
    choice.configs =
        admitted_configs(problem, rules, standard, configs_along(space, rules.vary, base, yields), space);
  } else if (!rules.incumbent_only) {
    const std::size_t most =
        rules.most == 0 ? (rules.whole_space ? sizes.whole : sizes.standard) : rules.most;
    std::vector<Config> searched =
        rules.whole_space ? walked_or_drawn(space, rules, most, standard, removed) : promising(most);
    if (searched.size() > most) searched.resize(most);
    searched.insert(searched.end(), seeds.begin(), seeds.end());
    choice.configs = admitted_configs(problem, rules, standard, searched, space, sizes.fewest);
  }
  if (!known) return choice;
  auto& configs = choice.configs;
  auto at = std::find(configs.begin(), configs.end(), *known);
  if (at == configs.end()) at = configs.insert(at, *known);
  choice.incumbent = std::size_t(at - configs.begin());
  return choice;
}

}  // namespace tilewright
