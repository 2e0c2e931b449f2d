// A record is a promise about a ratio (the default's time over its own), which a slower clock or a busy
// neighbour changes little; so that is what is measured and compared.
#include "tune_rematch.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "measure/clock.hpp"
#include "measure/contest.hpp"

namespace tilewright::cli {
namespace {

constexpr double tolerance = 0.05;  // timing differs by about this much from one run to the next
constexpr int looks = 3;            // at a record before it is called a regression

// The default's time over the record's when it was recorded; 0 when that is not known.
double recorded_gain(const WisdomRecord& record) {
  if (record.extra.contains("regret") && record.extra["regret"].is_number())
    return 1 + record.extra["regret"].get<double>();
  if (!record.default_seconds || !(record.seconds > 0)) return 0;
  return *record.default_seconds / record.seconds;
}

// Half the interval of the recorded time, relative to it.
double recorded_spread(const WisdomRecord& record) {
  return record.seconds > 0 ? (record.seconds_high - record.seconds_low) / 2 / record.seconds : 0;
}

// Both kernels take longer than they did: somebody else is at work, and what one gains on the other shrinks.
bool machine_is_slower(const WisdomRecord& record, const Checked& checked) {
  const double longer = 1 + tolerance;
  return record.default_seconds && checked.seconds.centre > longer * record.seconds &&
         checked.seconds.centre * checked.gain > longer * *record.default_seconds;
}

// Times the record's kernel against the default's for about `budget_s`, and judges the ratio.
Checked measure(const WisdomRecord& record, const std::function<double(std::size_t)>& time_turn,
                double budget_s) {
  Checked checked;
  std::vector<double> seconds;
  const double end_s = wall_seconds() + budget_s;
  const Verdict verdict = hold_contest(
      2,
      [&](std::size_t i) {
        const double cost = time_turn(i);
        if (i == 0) seconds.push_back(cost);
        return cost;
      },
      // As many as decide, and a few that may be thrown away, whatever the budget.
      [&] { return std::ssize(seconds) < 3 * least_paired_rounds || wall_seconds() < end_s; }, {});
  checked.seconds = estimate(seconds);
  if (!verdict.decided) {
    checked.verdict = fmt::format("unknown: the machine drifts too much, {} paired rounds of {} are left",
                                  verdict.rounds, verdict.rounds + verdict.discarded);
    return checked;
  }
  checked.gain = verdict.ratios[1].centre;
  checked.gain_before = recorded_gain(record);
  // What the record gained over the default must still be there, or at least nothing be lost by it.
  const double width =
      std::max({tolerance, recorded_spread(record), (verdict.ratios[1].high - verdict.ratios[1].low) / 2});
  if (checked.gain < 1 - width)
    checked.verdict = "regression: slower than the default";
  else if (checked.gain < (1 - width) * checked.gain_before)
    checked.verdict = machine_is_slower(record, checked)
                          ? "unknown: the machine is slower than when it was recorded, whatever it runs"
                          : "regression: it gained more when it was recorded";
  return checked;
}

}  // namespace

Checked rematch(const WisdomRecord& record, const std::function<double(std::size_t)>& time_turn,
                double budget_s) {
  Checked checked;
  for (int look = 0; look < looks; ++look) {
    checked = measure(record, time_turn, budget_s / looks);
    if (checked.holds()) break;
  }
  return checked;
}

}  // namespace tilewright::cli
