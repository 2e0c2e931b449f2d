// Rounds of timings, their medians, and their lines in the log.
#include "tune/calibrate/point_timer.hpp"

#include <algorithm>
#include <cmath>

#include "core/estimate.hpp"

namespace tilewright {
namespace {

constexpr int least_timings = 3, most_timings = 15, most_rounds = 3;
constexpr double most_round_s = 0.4;  // beyond the least timings
constexpr double over_allowance = 2;  // times its own share that one experiment may take
// A timing above the median by more robust standard deviations and by a larger fraction was disturbed.
constexpr double rejected_sds = 5, rejected_share = 0.1;
constexpr double most_spread = 0.2;    // of the accepted timings, relative
constexpr double most_rejected = 0.4;  // of all timings

// The normal distribution's, from the median of the distances from the median.
double robust_sd(const std::vector<double>& values, double centre) {
  constexpr double sd_of_distance = 1.4826;
  std::vector<double> distances;
  for (const double value : values) distances.push_back(std::abs(value - centre));
  return sd_of_distance * median(std::move(distances));
}

// The experiment's time grows about in proportion to this.
double units_of(const Experiment& e) {
  return e.is_gemm() ? e.products() : double(std::max<std::int64_t>(e.bytes, 1));
}

std::string kind_text(Experiment e) {
  e.bytes = 0, e.m = e.n = e.k = e.in_a_row = 0;
  return to_string(e);
}

}  // namespace

TimedPoint point_of(const std::vector<double>& seconds) {
  for (const double one : seconds)
    if (!(one > 0))
      throw Error(ErrorCode::invalid_argument, "seconds",
                  fmt::format("seconds contains {}, which is not a time", one));
  const double centre = estimate(seconds).centre;
  // Other programs only make timings longer: nothing below the median is rejected.
  const double most = centre + std::max(rejected_sds * robust_sd(seconds, centre), rejected_share * centre);
  std::vector<double> kept;
  for (const double one : seconds)
    if (one <= most) kept.push_back(one);

  TimedPoint point;
  const Estimate found = estimate(kept);
  point.seconds = found.centre, point.low = found.low, point.high = found.high;
  point.spread = robust_sd(kept, point.seconds) / point.seconds;
  point.samples = std::int64_t(kept.size());
  point.rejected = std::int64_t(seconds.size() - kept.size());
  if (point.spread > most_spread)
    point.fault = fmt::format("its {} timings disagree by {:.0f} %", seconds.size(), 100 * point.spread);
  else if (double(point.rejected) > most_rejected * double(seconds.size()))
    point.fault = fmt::format("{} of its {} timings were disturbed", point.rejected, seconds.size());
  return point;
}

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
      log_->fail(fmt::format("has an invalid line: {}", json_fault(error)));
    }
  }
}

void PointTimer::learn(const Experiment& experiment, double seconds) {
  seconds_per_unit_[kind_text(experiment)] = seconds / units_of(experiment);
}

// From the latest of its kind, which was smaller: an overestimate where larger ones are faster.
double PointTimer::predicted_s(const Experiment& experiment) const {
  const auto it = seconds_per_unit_.find(kind_text(experiment));
  return it == seconds_per_unit_.end() ? 0 : it->second * units_of(experiment);
}

// The first timing meets cold caches. It counts only if the experiment is so long that few timings fit.
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
  if (!rounds.empty()) point = point_of(rounds.back());
  const auto is_done = [&] {
    return !rounds.empty() && (point.fault.empty() || int(rounds.size()) >= most_rounds);
  };
  const double predicted = least_timings * predicted_s(experiment);
  if (rounds.empty() && (allowance_s <= 0 || predicted > over_allowance * allowance_s)) {
    point.over_budget = true;
    point.fault = allowance_s <= 0
                      ? "the budget is used up"
                      : fmt::format("it takes about {:.2g} s, but its share of the budget is {:.2g} s",
                                    predicted, allowance_s);
  } else {
    while (!is_done() && allowance_s > 0) try {
        rounds.push_back(one_round(experiment, allowance_s));
        if (log_) log_->write({{"experiment", to_json(experiment)}, {"seconds", rounds.back()}});
        point = point_of(rounds.back());
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
