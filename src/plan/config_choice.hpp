// Chooses the config that a family of kernels runs with, on the CPU or a GPU: the caller's, else that of a
// record of the problem or near it, else a heuristic. Each becomes an offer; rank.hpp compares it with those
// of other candidates. An operation with configs also names
//   Problem, problem(request) and problem_of(text of a record),
//   records(request, family, architecture, device, objective, take), as Wisdom::offer,
//   work(problem), by which the time of a record is scaled,
//   aligned_in_one(problem, other), optional: in how many operands of two near problems alignments differ.
#pragma once

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/input/json_text.hpp"
#include "kernel/space.hpp"
#include "plan/candidate.hpp"

namespace tilewright {

// Returns the caller's config as a JSON object, or {}. Throws Error(invalid_argument).
inline nlohmann::json asked_config(const Asked& asked) {
  if (asked.config.empty()) return nlohmann::json::object();
  auto json = parse_json_or_discard(std::string(asked.config));
  if (json.is_discarded() || !json.is_object())
    throw Error(ErrorCode::invalid_argument, "config",
                fmt::format("config = '{}' is not a JSON object", asked.config));
  return json;
}

// Throws Error(invalid_argument) if there are reasons why the caller's config is not legal.
inline void require_legal(const Asked& asked, const std::string& problem,
                          const std::vector<std::string>& reasons) {
  if (!reasons.empty())
    throw Error(
        ErrorCode::invalid_argument, "config",
        fmt::format("config {} is not legal for {}: {}", asked.config, problem, fmt::join(reasons, "; ")));
}

// Returns the call's objective, followed by time if it is another: most records are of time.
inline std::vector<std::string> objectives_asked(const Asked& asked) {
  const std::string own = asked.objective.text(), time = to_string(Objective::time);
  if (own == time) return {time};
  return {own, time};
}

// Offers records for the call's objective, then for time, as Wisdom::offer; recorded.objective says which.
template <class Request>
bool offer_wisdom(const Request& r, const char* family, const std::string& architecture,
                  const std::string& device, const Wisdom::Take& take) {
  using Operation = typename Request::Operation;
  for (const std::string& objective : objectives_asked(Operation::asked(r)))
    if (Operation::records(r, family, architecture, device, objective, take)) return true;
  return false;
}

// The standard deviation of the logarithm of a time that was measured for another problem or on another
// device, and scaled to this one. The terms are assumed, not fitted.
template <class Request>
double record_error(const Request& r, const WisdomAnswer& known) {
  using Operation = typename Request::Operation;
  if (known.match == WisdomMatch::exact) return 0;
  constexpr double of_any = 0.03, of_distance = 0.25, of_alignment = 0.1, of_device = 0.1;
  double error = of_any + of_distance * known.distance;
  if (known.match == WisdomMatch::near_device) error += of_device;
  if constexpr (requires { Operation::aligned_in_one(Operation::problem(r), Operation::problem(r)); })
    error +=
        of_alignment * Operation::aligned_in_one(Operation::problem(r), Operation::problem_of(known.problem));
  return error;
}

// Fills an offer from a record, scaled by floating-point operations; without seconds if it was not measured.
template <class Request>
CostEstimate estimate_of(const Request& r, const WisdomAnswer& known) {
  using Operation = typename Request::Operation;
  CostEstimate offer;
  offer.known = known;
  if (known.recorded.seconds <= 0) return offer;
  const double scale =
      Operation::work(Operation::problem(r)) / Operation::work(Operation::problem_of(known.problem));
  offer.seconds = known.recorded.seconds * scale;
  offer.error = record_error(r, known);
  if (known.recorded.energy_j) offer.joules = *known.recorded.energy_j * scale;
  return offer;
}

// A family for one problem on one device. The space and heuristic configs (best first) are made on demand.
template <class Operation, class Config>
struct ConfigFamily {
  const char* name;  // in wisdom
  std::string architecture, device;
  std::function<Space<Config>()> space;
  std::function<std::vector<Config>()> rules_of_thumb;
  // Writes the forecast time of a config without a record into its offer, and its error; may be null.
  std::function<void(const Config& config, CostEstimate& offer)> forecast = nullptr;
  // Adapts the config found for `recorded`, a problem near this one; null: use it unchanged.
  std::function<Config(const typename Operation::Problem& recorded, const Config& found)> carry = nullptr;
  // Returns a replacement of the first rule of thumb, if those take long to find; may be null.
  std::function<Config()> first_rule = nullptr;
  // Forecasts the time of a config, in a unit of the family's own, so well that the logarithm of the ratio of
  // two configs' times has this standard deviation; may be null.
  std::function<double(const Config& config)> cost = nullptr;
  double cost_error = 0.1;
  // A record of another device is used only if it gained at least this share over the rule of thumb there.
  double least_gain_elsewhere = 0;
};

// Returns why a record of another device is not used: it gained too little there. "" if it may be used.
inline std::string why_not_from_elsewhere(const WisdomAnswer& answer, double least_gain) {
  if (answer.match != WisdomMatch::near_device || !(least_gain > 0)) return "";
  const std::optional<double> gain = answer.recorded.regret();
  if (gain.value_or(0) >= least_gain) return "";
  return fmt::format("on {} it was {}; other devices use such a record from {:.0f} % on", answer.device,
                     gain ? fmt::format("{:.1f} % faster than the rule of thumb", 100 * *gain)
                          : "not compared with the rule of thumb",
                     100 * least_gain);
}

// Returns why a record's config cannot be used here (fields, space), else "", with the config in `config`.
template <class Operation, class Config>
std::string why_unusable(const WisdomAnswer& answer, const ConfigFamily<Operation, Config>& family,
                         const Space<Config>& space, Config& config) {
  if (auto reason = why_not_from_elsewhere(answer, family.least_gain_elsewhere); !reason.empty())
    return reason;
  try {
    config = from_json<Config>(answer.config);
    if (answer.match != WisdomMatch::exact && family.carry != nullptr)
      config = family.carry(Operation::problem_of(answer.problem), config);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::invalid_argument) throw;
    return error.what();
  }
  return space.contains(config) ? "" : space.explain(config).front();
}

// The configs in the order in which they are tried. Wisdom is asked again only if its first answer could not
// be built, which is rare, so that a plan looks its record up once.
template <class Operation, class Config>
class ConfigChoices {
 public:
  struct Choice {
    Config config;
    WisdomAnswer known;
    std::string unusable;  // why a nearer record is not used
  };

  ConfigChoices(const typename Operation::Request& request, ConfigFamily<Operation, Config> family)
      : request_(&request), asked_(Operation::asked(request)), family_(std::move(family)) {}

  std::optional<Choice> next() {
    if (!asked_.config.empty()) return asked_for();
    if (auto recorded = next_record()) return recorded;
    const std::optional<Config> rule = next_rule();
    if (!rule) return std::nullopt;
    return Choice{*rule, no_record("rule of thumb"), unusable_};
  }

 private:
  std::optional<Config> next_rule() {
    if (rule_++ == 0) return first_rule();
    fill_rules();
    return rule_ > rules_.size() ? std::nullopt : std::optional(rules_[rule_ - 1]);
  }
  const Config& first_rule() {
    if (!first_rule_ && family_.first_rule != nullptr) first_rule_ = family_.first_rule();
    if (!first_rule_) fill_rules(), first_rule_ = rules_.front();
    return *first_rule_;
  }
  void fill_rules() {
    if (rules_.empty()) rules_ = family_.rules_of_thumb();
  }

  // Returns why a config that was found for another problem or device is not expected to be faster here than
  // the first rule of thumb; "" if it is. The record says that it is, by as much as it was there; the
  // family's forecast says by how much. Each has its error; the two are weighted by them.
  std::string why_slower(const WisdomAnswer& answer, const Config& config) {
    if (answer.match == WisdomMatch::exact || family_.cost == nullptr || config == first_rule()) return "";
    if (!rule_cost_) rule_cost_ = family_.cost(first_rule());
    constexpr double assumed_gain = 0.03;  // of a tuned config; assumed
    const double gain = std::log1p(answer.recorded.regret().value_or(assumed_gain));
    const double forecast = std::log(family_.cost(config) / *rule_cost_);
    const double of_record = 1 / square(record_error(*request_, answer)),
                 of_forecast = 1 / square(family_.cost_error);
    const double variance = 1 / (of_record + of_forecast);
    const double expected = std::exp((forecast * of_forecast - gain * of_record) * variance + variance / 2);
    if (expected < 1) return "";
    return fmt::format("its config is expected to take {:.2f} times what the rule of thumb's takes",
                       expected);
  }
  static double square(double x) { return x * x; }

  std::optional<Choice> asked_for() {
    if (std::exchange(gave_asked_, true)) return std::nullopt;
    const auto config = asked_over(*next_rule());
    require_legal(asked_, to_string(Operation::problem(*request_)), family_.space().explain(config));
    return Choice{config, no_record("requested"), ""};
  }

  Config asked_over(const Config& rule) const {
    try {
      return from_json(asked_config(asked_), rule);
    } catch (const Error& error) {
      if (error.argument() == "config") throw;
      throw Error(error.code(), "config", fmt::format("config {}: {}", asked_.config, error.what()));
    }
  }

  std::optional<Choice> next_record() {
    std::optional<Choice> found;
    if (no_records_) return found;
    const auto take = [&](const WisdomAnswer& answer) {
      if (std::find(tried_.begin(), tried_.end(), answer.config) != tried_.end()) return false;
      tried_.push_back(answer.config);
      if (!space_) space_ = family_.space();
      Config config;
      std::string reason = why_unusable(answer, family_, *space_, config);
      if (reason.empty()) reason = why_slower(answer, config);
      if (reason.empty())
        found = Choice{config, answer, unusable_};
      else if (unusable_.empty())
        unusable_ = fmt::format("that of {}: {}", answer.problem, reason);
      return found.has_value();
    };
    no_records_ = !offer_wisdom(*request_, family_.name, family_.architecture, family_.device, take);
    return found;
  }

  const typename Operation::Request* request_;
  Asked asked_;
  ConfigFamily<Operation, Config> family_;
  bool gave_asked_ = false, no_records_ = false;
  std::optional<Space<Config>> space_;
  std::vector<nlohmann::json> tried_;
  std::string unusable_;
  std::vector<Config> rules_;
  std::optional<Config> first_rule_;
  std::optional<double> rule_cost_;
  std::size_t rule_ = 0;  // how many were taken
};

// Returns the family's configs as offers; make(config) returns a Made. The request must outlive them.
template <class Operation, class Config, class Make>
Offers<Operation> config_offers(const typename Operation::Request& request,
                                ConfigFamily<Operation, Config> family, Make make) {
  const auto forecast = family.forecast;
  const char* const name = family.name;
  return [&request, choices = ConfigChoices(request, std::move(family)), make, forecast,
          name]() mutable -> std::optional<Offer<Operation>> {
    auto choice = choices.next();
    if (!choice) return std::nullopt;
    Offer<Operation> offer{estimate_of(request, choice->known)};
    offer.has_config = true;
    offer.family = name;
    offer.unusable = offer.seconds || choice->known.match == WisdomMatch::none
                         ? choice->unusable
                         : fmt::format("that of {}: it has no time", choice->known.problem);
    const bool is_known =
        choice->known.match != WisdomMatch::none || !Operation::asked(request).config.empty();
    if (!is_known && forecast != nullptr) forecast(choice->config, offer);
    offer.make = [make, config = choice->config] { return make(config); };
    return offer;
  };
}

}  // namespace tilewright
