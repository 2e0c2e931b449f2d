// The parts of choosing a config that depend neither on the family nor on the operation.
#include "plan/config_choice.hpp"

#include <fmt/ranges.h>

namespace tilewright {

std::vector<std::string> objectives_asked(const Asked& asked) {
  const std::string own = asked.objective.text(), time = to_string(Objective::time);
  if (own == time) return {time};
  return {own, time};
}

nlohmann::json asked_config(const Asked& asked) {
  if (asked.config.empty()) return nlohmann::json::object();
  auto json = parse_json_or_discard(std::string(asked.config));
  if (json.is_discarded() || !json.is_object())
    throw Error(ErrorCode::invalid_argument, "config",
                fmt::format("config = '{}' is not a JSON object", asked.config));
  return json;
}

void require_legal(const Asked& asked, const std::string& problem, const std::vector<std::string>& reasons) {
  if (!reasons.empty())
    throw Error(
        ErrorCode::invalid_argument, "config",
        fmt::format("config {} is not legal for {}: {}", asked.config, problem, fmt::join(reasons, "; ")));
}

std::string why_not_from_elsewhere(const WisdomAnswer& answer, double least_gain) {
  if (answer.match != WisdomMatch::near_device || !(least_gain > 0)) return "";
  const std::optional<double> gain = answer.recorded.regret();
  if (gain.value_or(0) >= least_gain) return "";
  return fmt::format("on {} it was {}; elsewhere that is worth following from {:.0f} % on", answer.device,
                     gain ? fmt::format("{:.1f} % faster than the rule of thumb", 100 * *gain)
                          : "not compared with the rule of thumb",
                     100 * least_gain);
}

}  // namespace tilewright
