// Reads and applies restrictions.
#include "tune/axis_rules.hpp"

#include <algorithm>

#include "core/input/json_text.hpp"

namespace tilewright {

AxisCondition AxisCondition::parse(const std::string& text) {
  const std::size_t at = text.find_first_of("<>=!");
  for (const std::string relation : {">=", "<=", "!=", "==", "=", ">", "<"}) {
    if (at == std::string::npos || at == 0 || text.compare(at, relation.size(), relation) != 0) continue;
    const std::string word = text.substr(at + relation.size());
    if (word.empty()) break;
    auto value = parse_json_or_discard(word);
    return {text.substr(0, at), relation == "==" ? "=" : relation,
            value.is_discarded() ? nlohmann::json(word) : value};
  }
  throw Error(ErrorCode::invalid_argument, "--where",
              fmt::format("--where = '{}' is not of the form axis>=value (or <=, =, !=, >, <)", text));
}

bool AxisCondition::allows(const nlohmann::json& own) const {
  if (relation == "=") return own == value;
  if (relation == "!=") return own != value;
  if (!own.is_number() || !value.is_number())
    throw Error(ErrorCode::invalid_argument, "--where",
                fmt::format("--where '{}{}{}': names have no order", axis, relation, value.dump()));
  if (relation == ">=") return own >= value;
  if (relation == "<=") return own <= value;
  return relation == ">" ? own > value : own < value;
}

nlohmann::json AxisRules::as_json() const {
  auto json = nlohmann::json::object();
  for (const AxisChoice& choice : choices)
    json["set"].push_back({{"axis", choice.axis}, {"values", choice.values}});
  for (const AxisCondition& one : conditions)
    json["where"].push_back({{"axis", one.axis}, {"relation", one.relation}, {"value", one.value}});
  return json;
}

bool AxisRules::admit(const nlohmann::json& fields) const {
  return std::all_of(conditions.begin(), conditions.end(),
                     [&](const AxisCondition& one) { return one.allows(fields.at(one.axis)); });
}

bool AxisRules::speak_of(const std::string& axis) const {
  const auto names = [&](const auto& one) { return one.axis == axis; };
  return std::any_of(choices.begin(), choices.end(), names) ||
         std::any_of(conditions.begin(), conditions.end(), names);
}

bool AxisRules::allow(const std::string& axis, const nlohmann::json& value) const {
  for (const AxisChoice& one : choices)
    if (one.axis == axis && std::find(one.values.begin(), one.values.end(), value) == one.values.end())
      return false;
  return std::all_of(conditions.begin(), conditions.end(),
                     [&](const AxisCondition& one) { return one.axis != axis || one.allows(value); });
}

void refuse_empty_search(const AxisRules& rules, const GemmProblem& problem) {
  const auto text = [](const nlohmann::json& value) {
    return value.is_string() ? value.get<std::string>() : value.dump();
  };
  std::string asked;
  for (const AxisChoice& choice : rules.choices) {
    asked += fmt::format("{}--set {}=", asked.empty() ? "" : " ", choice.axis);
    for (const auto& value : choice.values)
      asked += (&value == &choice.values.front() ? "" : ",") + text(value);
  }
  for (const AxisCondition& condition : rules.conditions)
    asked += fmt::format("{}--where '{}{}{}'", asked.empty() ? "" : " ", condition.axis, condition.relation,
                         text(condition.value));
  throw Error(
      ErrorCode::invalid_argument, rules.choices.empty() ? "--where" : "--set",
      fmt::format("{}: no config searched for {} is legal with such values", asked, to_string(problem)));
}

}  // namespace tilewright
