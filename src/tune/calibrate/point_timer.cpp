// Rounds of timings, and their lines in the log.
#include "tune/calibrate/point_timer.hpp"

#include <algorithm>

namespace tilewright {
namespace {

constexpr int least_timings = 3, most_timings = 15;
constexpr double most_round_s = 0.4;  // beyond the least timings
constexpr double over_allowance = 2;  // what one experiment may exceed its own share by

// What its time grows with, roughly.
double units_of(const Experiment& e) {
  return e.is_gemm() ? e.products() : double(std::max<std::int64_t>(e.bytes, 1));
}

std::string kind_text(Experiment e) {
  e.bytes = 0, e.m = e.n = e.k = e.in_a_row = 0;
  return to_string(e);
}

}  // namespace

PointTimer::PointTimer(CalibrationMachine& machine, const PointLog& log) : machine_(machine) {
  if (log.path.empty()) return;
  log_ = std::make_unique<LineLog>(log.path, LineLogRules{.argument = "log",
                                                          .opening = "calibrate",
                                                          .resume = log.resume,
                                                          .keep_all = false,
                                                          .what = "log of calibrate"});
  if (log_->kept().empty()) {
    log_->write({{"calibrate", log.run}});
    return;
  }
  log_->refuse_other_run(log_->kept().front().value("calibrate", nlohmann::json::object()), log.run);
  for (const nlohmann::json& line : log_->kept()) {
    if (!line.contains("experiment")) continue;
    try {
      const auto experiment = from_json<Experiment>(line.at("experiment"));
      const auto seconds = line.at("seconds").get<std::vector<double>>();
      learn(experiment, point_of(seconds).seconds);
      known_[to_string(experiment)].push_back(seconds);
      kept_ += std::int64_t(seconds.size());
    } catch (const std::exception& error) {
      log_->fail(fmt::format("has a line that cannot be read: {}", json_fault(error)));
    }
  }
}

bool PointTimer::is_known(const Experiment& experiment) const {
  return known_.contains(to_string(experiment));
}

void PointTimer::learn(const Experiment& experiment, double seconds) {
  seconds_per_unit_[kind_text(experiment)] = seconds / units_of(experiment);
}

// By the last of its kind, which was smaller: more than it will take, where larger ones are faster.
double PointTimer::predicted_s(const Experiment& experiment) const {
  const auto it = seconds_per_unit_.find(kind_text(experiment));
  return it == seconds_per_unit_.end() ? 0 : it->second * units_of(experiment);
}

// The first timing meets cold caches and is a look at how long it takes; where that is long, it counts.
std::vector<double> PointTimer::one_round(const Experiment& experiment, double allowance_s) {
  const double begin = machine_.now();
  std::vector<double> seconds{machine_.seconds(experiment)};
  if (seconds[0] * (least_timings + 1) < allowance_s) seconds.clear();
  while (int(seconds.size()) < least_timings ||
         (int(seconds.size()) < most_timings && machine_.now() - begin < std::min(allowance_s, most_round_s)))
    seconds.push_back(machine_.seconds(experiment));
  timings_ += std::int64_t(seconds.size());
  return seconds;
}

TimedPoint PointTimer::time(const Experiment& experiment, double allowance_s) {
  TimedPoint point;
  Rounds& rounds = known_[to_string(experiment)];
  if (!rounds.empty()) point = point_of(rounds.back(), rules_);
  const auto is_done = [&] {
    return !rounds.empty() && (point.fault.empty() || int(rounds.size()) >= rules_.most_rounds);
  };
  const double predicted = least_timings * predicted_s(experiment);
  if (rounds.empty() && (allowance_s <= 0 || predicted > over_allowance * allowance_s)) {
    point.over_budget = true;
    point.fault = allowance_s <= 0
                      ? "the budget is spent"
                      : fmt::format("it takes about {:.2g} s, and {:.2g} s are its share of the budget",
                                    predicted, allowance_s);
  } else {
    while (!is_done() && allowance_s > 0) try {
        rounds.push_back(one_round(experiment, allowance_s));
        if (log_) log_->write({{"experiment", to_json(experiment)}, {"seconds", rounds.back()}});
        point = point_of(rounds.back(), rules_);
        learn(experiment, point.seconds);
      } catch (const Error& error) {
        if (error.argument() == "log") throw;
        point.fault = error.what();
        break;
      }
  }
  if (rounds.empty()) known_.erase(to_string(experiment));
  return point;
}

}  // namespace tilewright
