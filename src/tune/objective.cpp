// The scores. Each goal is one line; the rest is reading its text and refusing what was not measured.
#include "tune/objective.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>

namespace tilewright {
namespace {

// A candidate that is too slow costs more than any that is not, and the more the slower it is, so that a
// search finds its way to the fast ones.
constexpr double too_slow = 1e3;

[[noreturn]] void refuse(const std::string& text) {
  throw Error(
      ErrorCode::invalid_argument, "--objective",
      fmt::format("--objective = '{}' is none of time, energy, edp, alpha=0.7, energy_within=5%", text));
}

double number_after(const std::string& text, std::size_t begin, bool percent) {
  double value = 0;
  const char* last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data() + begin, last, value);
  const bool has_percent = percent && end != last && *end == '%';
  if (error != std::errc() || end + (has_percent ? 1 : 0) != last || !(value >= 0)) refuse(text);
  return has_percent ? value / 100 : value;
}

}  // namespace

TuneObjective TuneObjective::parse(const std::string& text) {
  TuneObjective objective;
  const std::size_t equals = text.find('=');
  const std::string name = text.substr(0, equals);
  bool known = false;
  for (const auto& [goal, goal_name] : EnumNames<Goal>::value)
    if (name == goal_name) objective.goal_ = goal, known = true;
  const bool takes_number = objective.goal_ == Goal::alpha || objective.goal_ == Goal::energy_within;
  if (!known || takes_number != (equals != std::string::npos)) refuse(text);
  if (!takes_number) return objective;
  objective.number_ = number_after(text, equals + 1, objective.goal_ == Goal::energy_within);
  if (objective.goal_ == Goal::alpha && objective.number_ > 1) refuse(text);
  return objective;
}

std::string TuneObjective::text() const {
  if (goal_ == Goal::alpha) return fmt::format("alpha={}", number_);
  if (goal_ == Goal::energy_within) return fmt::format("energy_within={}%", 100 * number_);
  return to_string(goal_);
}

bool TuneObjective::needs_energy() const noexcept {
  return goal_ != Goal::time && !(goal_ == Goal::alpha && number_ == 1);
}

double TuneObjective::joules(const Metrics& metrics) const {
  if (metrics.joules && *metrics.joules > 0) return *metrics.joules;
  throw Error(ErrorCode::unsupported, "--objective",
              fmt::format("--objective = {} needs energy, and no meter gave a reading", text()));
}

double TuneObjective::cost(const Metrics& metrics, const Metrics& reference) const {
  switch (goal_) {
    case Goal::time:
      return metrics.seconds;
    case Goal::energy:
      return joules(metrics);
    case Goal::edp:
      return joules(metrics) * metrics.seconds;
    case Goal::alpha: {  // Anzt 2015, eq. 2: alpha t + (1 - alpha) e
      const double time = metrics.seconds / reference.seconds;
      return number_ == 1 ? time : number_ * time + (1 - number_) * joules(metrics) / joules(reference);
    }
    case Goal::energy_within: {
      const double slower = metrics.seconds / reference.seconds;
      const double energy = joules(metrics) / joules(reference);
      return slower <= 1 + number_ ? energy : too_slow * slower;
    }
  }
  return 0;
}

std::vector<double> TuneObjective::costs(std::span<const Metrics> all, const Metrics& reference) const {
  const auto faster = [](const Metrics& x, const Metrics& y) { return x.seconds < y.seconds; };
  const bool own_anchor = goal_ == Goal::energy_within && !all.empty();
  const Metrics& anchor = own_anchor ? *std::min_element(all.begin(), all.end(), faster) : reference;
  std::vector<double> costs;
  for (const Metrics& one : all) costs.push_back(cost(one, anchor));
  return costs;
}

std::size_t TuneObjective::best(std::span<const Metrics> all, const Metrics& reference) const {
  if (all.empty()) throw Error(ErrorCode::invalid_argument, "all", "all = 0 measurements: none is the best");
  const std::vector<double> each = costs(all, reference);
  return std::size_t(std::min_element(each.begin(), each.end()) - each.begin());
}

double TuneObjective::contest_cost(const Metrics& metrics, const Metrics& reference) const {
  return goal_ == Goal::energy_within ? joules(metrics) : cost(metrics, reference);
}

double TuneObjective::slowest_s(double fastest_s) const {
  return goal_ == Goal::energy_within ? (1 + number_) * fastest_s : std::numeric_limits<double>::infinity();
}

}  // namespace tilewright
