// Computes the scores. Each goal takes one line; the rest reads its text and refuses unmeasured metrics.
#include "core/objective.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>

namespace tilewright {
namespace {

// The penalty of a candidate that is too slow: the slower, the higher, and above the cost of any fast one.
constexpr double too_slow = 1e3;

constexpr double default_within = 0.05;

[[noreturn]] void refuse(const std::string& argument, const std::string& text) {
  throw Error(
      ErrorCode::invalid_argument, argument,
      fmt::format("{} = '{}' is not one of time, energy, edp, alpha=0.7 (from 0 to 1), energy_within=5%",
                  argument, text));
}

bool has_number(Objective goal) { return goal == Objective::alpha || goal == Objective::energy_within; }

double number_after(const std::string& argument, const std::string& text, std::size_t begin, bool percent) {
  double value = 0;
  const char* last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data() + begin, last, value);
  const bool has_percent = percent && end != last && *end == '%';
  if (error != std::errc() || end + (has_percent ? 1 : 0) != last || !(value >= 0)) refuse(argument, text);
  return has_percent ? value / 100 : value;
}

}  // namespace

TuneObjective TuneObjective::parse(const std::string& text, const std::string& argument) {
  TuneObjective objective;
  const std::size_t equals = text.find('=');
  const auto goal = enum_named<Objective>(text.substr(0, equals));
  if (!goal || has_number(*goal) != (equals != std::string::npos)) refuse(argument, text);
  objective.goal_ = *goal;
  if (!has_number(objective.goal_)) return objective;
  objective.number_ = number_after(argument, text, equals + 1, objective.goal_ == Objective::energy_within);
  // "energy_within=5" would mean 500 %: a plain share is at most 1; larger numbers need the percent sign.
  const bool share = text.back() != '%';
  if (share && objective.number_ > 1) refuse(argument, text);
  return objective;
}

TuneObjective TuneObjective::of(Objective goal, std::optional<double> number) {
  const auto wrong = [&](const std::string& why) {
    throw Error(ErrorCode::invalid_argument, "objective_weight",
                fmt::format("objective_weight{} {}", number ? fmt::format(" = {}", *number) : "", why));
  };
  TuneObjective objective;
  objective.goal_ = goal;
  if (!has_number(goal) && number) wrong(fmt::format("has no meaning for objective = {}", to_string(goal)));
  if (goal == Objective::alpha && !number) wrong("is missing: objective = alpha needs a weight from 0 to 1");
  if (goal == Objective::alpha && !(*number >= 0 && *number <= 1)) wrong("is not between 0 and 1");
  if (goal == Objective::energy_within && number && !(*number >= 0)) wrong("is negative");
  objective.number_ = number.value_or(goal == Objective::energy_within ? default_within : 0);
  return objective;
}

std::optional<double> TuneObjective::number() const noexcept {
  return has_number(goal_) ? std::optional(number_) : std::nullopt;
}

std::string TuneObjective::text() const {
  if (goal_ == Objective::alpha) return fmt::format("alpha={}", number_);
  if (goal_ == Objective::energy_within) return fmt::format("energy_within={:.12g}%", 100 * number_);
  return to_string(goal_);
}

bool TuneObjective::needs_energy() const noexcept {
  return goal_ != Objective::time && !(goal_ == Objective::alpha && number_ == 1);
}

double TuneObjective::joules(const Metrics& metrics) const {
  if (metrics.joules && *metrics.joules > 0) return *metrics.joules;
  throw Error(ErrorCode::unsupported, "objective",
              fmt::format("objective = {} needs energy, but no meter gave a reading", text()));
}

double TuneObjective::cost(const Metrics& metrics, const Metrics& reference) const {
  switch (goal_) {
    case Objective::time:
      return metrics.seconds;
    case Objective::energy:
      return joules(metrics);
    case Objective::edp:
      return joules(metrics) * metrics.seconds;
    case Objective::alpha: {  // Anzt 2015, eq. 2: alpha t + (1 - alpha) e
      const double time = metrics.seconds / reference.seconds;
      return number_ == 1 ? time : number_ * time + (1 - number_) * joules(metrics) / joules(reference);
    }
    case Objective::energy_within: {
      const double slower = metrics.seconds / reference.seconds;
      const double energy = joules(metrics) / joules(reference);
      return slower <= 1 + number_ ? energy : too_slow * slower;
    }
  }
  return 0;
}

std::vector<double> TuneObjective::costs(std::span<const Metrics> all, const Metrics& reference) const {
  const auto faster = [](const Metrics& x, const Metrics& y) { return x.seconds < y.seconds; };
  const bool own_anchor = goal_ == Objective::energy_within && !all.empty();
  const Metrics& anchor = own_anchor ? *std::min_element(all.begin(), all.end(), faster) : reference;
  std::vector<double> costs;
  for (const Metrics& one : all) costs.push_back(cost(one, anchor));
  return costs;
}

std::size_t TuneObjective::best(std::span<const Metrics> all, const Metrics& reference) const {
  if (all.empty())
    throw Error(ErrorCode::invalid_argument, "all", "all is empty: there is no best measurement");
  const std::vector<double> each = costs(all, reference);
  return std::size_t(std::min_element(each.begin(), each.end()) - each.begin());
}

double TuneObjective::contest_cost(const Metrics& metrics, const Metrics& reference) const {
  return goal_ == Objective::energy_within ? joules(metrics) : cost(metrics, reference);
}

double TuneObjective::slowest_s(double fastest_s) const {
  return goal_ == Objective::energy_within ? (1 + number_) * fastest_s
                                           : std::numeric_limits<double>::infinity();
}

}  // namespace tilewright
