// The config that a family of kernels runs with, on the CPU or a GPU: the one asked for, else what wisdom has
// of the problem or near it, else a rule of thumb. Each becomes an offer; whether another candidate's is
// better is rank.hpp's. An operation with configs also names
//   Problem, and problem(request) and problem_of(text of a record),
//   records(request, family, architecture, device, objective, take), as Wisdom::offer,
//   work(problem), by which the time of a record is scaled.
#pragma once

#include <algorithm>
#include <vector>

#include "core/input/json_text.hpp"
#include "kernel/space.hpp"
#include "plan/candidate.hpp"

namespace tilewright {

// The caller's config as a JSON object; {} where there is none. Throws Error(invalid_argument).
nlohmann::json asked_config(const Asked& asked);
// Throws Error(invalid_argument) with the reasons, if any, for which the config asked for is not legal.
void require_legal(const Asked& asked, const std::string& problem, const std::vector<std::string>& reasons);

// The call's objective and then, unless it is that, time, for which most is known.
std::vector<std::string> objectives_asked(const Asked& asked);

// Offers what wisdom has for the call's objective and then what was searched for time. The answer's
// recorded.objective says which. As Wisdom::offer.
template <class Request>
bool offer_wisdom(const Request& r, const char* family, const std::string& architecture,
                  const std::string& device, const Wisdom::Take& take) {
  using Operation = typename Request::Operation;
  for (const std::string& objective : objectives_asked(Operation::asked(r)))
    if (Operation::records(r, family, architecture, device, objective, take)) return true;
  return false;
}

// Fills an offer from a record; without seconds where it was not measured. Two of neighbouring sizes can be
// compared by what they say of a floating-point operation.
template <class Request>
CostEstimate estimate_of(const Request& r, const WisdomAnswer& known) {
  using Operation = typename Request::Operation;
  CostEstimate offer;
  offer.known = known;
  if (known.recorded.seconds <= 0) return offer;
  const double scale =
      Operation::work(Operation::problem(r)) / Operation::work(Operation::problem_of(known.problem));
  offer.seconds = known.recorded.seconds * scale;
  if (known.recorded.energy_j) offer.joules = *known.recorded.energy_j * scale;
  return offer;
}

// A family for one problem on one device. Spaces and rules of thumb, the best first, are asked for only when
// wanted.
template <class Operation, class Config>
struct ConfigFamily {
  const char* name;  // in wisdom
  std::string architecture, device;
  std::function<Space<Config>()> space;
  std::function<std::vector<Config>()> rules_of_thumb;
  // Notes the forecast of a config without a record in its offer; may be null.
  std::function<void(const Config& config, CostEstimate& offer)> forecast = nullptr;
  // The config for this problem that follows from the one that was found for `recorded`, a problem near it;
  // may be null, and then the same.
  std::function<Config(const typename Operation::Problem& recorded, const Config& found)> carry = nullptr;
  // Returns a config to try before the rules of thumb, where those take long to find and this does not; may
  // be null. It takes the place of the first of them.
  std::function<Config()> first_rule = nullptr;
  // Forecasts what this problem takes with a config, in a unit of the family's own; may be null. A record of
  // another problem or device is not used where its config is forecast to take more than `most_cost` times
  // what the first rule of thumb takes.
  std::function<double(const Config& config)> cost = nullptr;
  double most_cost = 1;
  // The gain that a record of another device must have had there over the rule of thumb to be used here, as a
  // share.
  double least_gain_elsewhere = 0;
};

// Returns why a record says nothing of this device: it is another's, and gained too little there. "" where it
// may be used.
std::string why_not_from_elsewhere(const WisdomAnswer& answer, double least_gain);

// Why a record's config is not used: this build lacks its fields, or the space has no place for it. "" for no
// reason; `config` then is the config.
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

// The configs in the order in which they are tried. Wisdom is asked again where its first answer came to
// nothing, which is rare, so that a plan looks its record up once.
template <class Operation, class Config>
class ConfigChoices {
 public:
  struct Choice {
    Config config;
    WisdomAnswer known;
    std::string unusable;  // what a nearer record lacks
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
  // Nearly always the first one serves.
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

  // Why a config that was found for another problem or device is not used here; "" where it may be.
  std::string why_dearer(const WisdomAnswer& answer, const Config& config) {
    if (answer.match == WisdomMatch::exact || family_.cost == nullptr || config == first_rule()) return "";
    if (!rule_cost_) rule_cost_ = family_.cost(first_rule());
    const double ratio = family_.cost(config) / *rule_cost_;
    if (ratio <= family_.most_cost) return "";
    return fmt::format("its config is forecast to take {:.2f} times what the rule of thumb's takes", ratio);
  }

  std::optional<Choice> asked_for() {
    if (std::exchange(gave_asked_, true)) return std::nullopt;
    const auto config = asked_over(*next_rule());
    require_legal(asked_, to_string(Operation::problem(*request_)), family_.space().explain(config));
    return Choice{config, no_record("asked for"), ""};
  }

  // Errors name the option that holds the fields.
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
      if (reason.empty()) reason = why_dearer(answer, config);
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

// The family's configs as offers; make(config) gives the Made of one. The request outlives them.
template <class Operation, class Config, class Make>
Offers<Operation> config_offers(const typename Operation::Request& request,
                                ConfigFamily<Operation, Config> family, Make make) {
  const auto forecast = family.forecast;
  return [&request, choices = ConfigChoices(request, std::move(family)), make,
          forecast]() mutable -> std::optional<Offer<Operation>> {
    auto choice = choices.next();
    if (!choice) return std::nullopt;
    Offer<Operation> offer{estimate_of(request, choice->known)};
    offer.has_config = true;
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
