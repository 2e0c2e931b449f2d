// The parts of choosing a config that do not depend on the family.
#include "gemm/config_choice.hpp"

#include <fmt/ranges.h>

#include "core/input/json_text.hpp"
#include "gemm/context_impl.hpp"

namespace tilewright {
namespace {

std::vector<std::string> objectives_asked(const PlanRequest& r) {
  const std::string own = objective_of(r.options).text(), time = to_string(Objective::time);
  if (own == time) return {time};
  return {own, time};
}

double flops_of_one(GemmProblem p) {
  p.batch_count = 1;
  return std::max(1.0, flops(p));
}

}  // namespace

TuneObjective objective_of(const GemmOptions& options) {
  return TuneObjective::of(options.objective, options.objective_weight);
}

nlohmann::json asked_config(const PlanRequest& r) {
  if (r.options.config.empty()) return nlohmann::json::object();
  auto json = parse_json_or_discard(r.options.config);
  if (json.is_discarded() || !json.is_object())
    throw Error(ErrorCode::invalid_argument, "config",
                fmt::format("config = '{}' is not a JSON object", r.options.config));
  return json;
}

void require_legal(const PlanRequest& r, const std::vector<std::string>& reasons) {
  if (!reasons.empty())
    throw Error(ErrorCode::invalid_argument, "config",
                fmt::format("config {} is not legal for {}: {}", r.options.config, to_string(r.problem),
                            fmt::join(reasons, "; ")));
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

bool offer_wisdom(const PlanRequest& r, const char* family, const std::string& architecture,
                  const std::string& device, const Wisdom::Take& take) {
  const Wisdom* wisdom = r.context.wisdom();
  if (wisdom == nullptr) return false;
  for (const std::string& objective : objectives_asked(r))
    if (wisdom->offer({family, architecture, r.problem, objective, device, to_string(r.options.math_mode)},
                      take))
      return true;
  return false;
}

CostEstimate estimate_of(const PlanRequest& r, const WisdomAnswer& known) {
  CostEstimate offer;
  offer.known = known;
  if (known.recorded.seconds <= 0) return offer;
  // Two of neighbouring sizes can be compared by what they say of a floating-point operation.
  const double scale = flops_of_one(r.problem) / flops_of_one(parse_problem(known.problem));
  offer.seconds = known.recorded.seconds * scale;
  if (known.recorded.energy_j) offer.joules = *known.recorded.energy_j * scale;
  return offer;
}

}  // namespace tilewright
