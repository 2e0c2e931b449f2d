// Which configs of a problem are searched, for a family of any config struct: the default first, then what
// the rules leave of the promising ones, of the whole space, or of one axis, what earlier runs found, and
// what was known as best before. It makes and measures nothing.
#pragma once

#include <algorithm>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "tune/axis_rules.hpp"

namespace tilewright {

// What choosing is told.
struct ChoiceRules : AxisRules {
  std::size_t most = 0;                     // so many of those searched; 0: as many as the family thinks
  std::string vary;                         // every value of this axis of the best config known, nothing else
  std::vector<nlohmann::json> seeds;        // further candidates: what earlier runs found
  std::optional<nlohmann::json> incumbent;  // known as best before: it stays unless it is clearly beaten
  bool incumbent_only = false;              // nothing else but the default is tried

  nlohmann::json as_json() const {
    auto json = AxisRules::as_json();
    json.update({{"whole_space", whole_space}, {"most", most}, {"vary", vary}});
    return json;
  }
};

// How many a family searches of those that usually matter and of its whole space, and where axes are
// restricted at least.
struct ChoiceSizes {
  std::size_t usual, whole, fewest;
};

template <class Config>
struct ChosenConfigs {
  std::vector<Config> configs;
  std::optional<std::size_t> incumbent;  // its place; empty where there was none or it is not legal
};

// The configs that rows and records of earlier runs name, as far as this build has their fields.
template <class Config>
std::optional<Config> config_of(const nlohmann::json& fields) {
  try {
    return from_json<Config>(fields);
  } catch (const Error&) {
    return std::nullopt;
  }
}

// `base` with each legal value of one axis. Where a value is not legal with what `yields` is in `base`, that
// axis takes the next smaller value that is. Throws Error(invalid_argument) for an axis that does not exist.
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

// Up to `count` legal configs: all of them where they are no more, else drawn at random. What each constraint
// cut goes to `removed`.
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

// `promising(count)` gives the configs that usually matter, the best first as far as the family can tell.
// Throws Error(invalid_argument) naming an axis or value that does not exist, or when no config remains.
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
    const std::size_t most = rules.most == 0 ? (rules.whole_space ? sizes.whole : sizes.usual) : rules.most;
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
