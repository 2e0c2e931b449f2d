// A record is a promise about a ratio (the default's time over its own), which a slower clock or a busy
// neighbour changes little; so that is what is measured and compared.
#include "recheck.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>

#include "measure/clock.hpp"
#include "measure/contest.hpp"
#include "tune/tuner.hpp"
#include "wisdom/key.hpp"
#include "wisdom/store.hpp"

namespace tilewright::cli {
namespace {

constexpr double tolerance = 0.05;  // timing differs by about this much from one run to the next
constexpr double widest = 0.5;      // spread of a ratio that says anything
constexpr int looks = 3;            // at a record before it is called a regression

// The default's time over the record's when it was recorded; 0 when that is not known.
double recorded_gain(const WisdomRecord& record) {
  if (const auto regret = paired_regret(record)) return 1 + *regret;
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
  if (width > widest)
    checked.verdict = fmt::format("unknown: the ratio to the default is known to {:.0f} % only", 100 * width);
  else if (checked.gain < 1 - width)
    checked.verdict = "regression: slower than the default";
  else if (checked.gain < (1 - width) * checked.gain_before)
    checked.verdict = machine_is_slower(record, checked)
                          ? "unknown: the machine is slower than when it was recorded, whatever it runs"
                          : "regression: it gained more when it was recorded";
  return checked;
}

// Measures several times, for about `budget_s` in all. `time_turn` takes a turn of the record's kernel (0) or
// of the default's (1) and gives the seconds of one problem.
Checked rematch(const WisdomRecord& record, const std::function<double(std::size_t)>& time_turn,
                double budget_s) {
  Checked checked;
  int regressions = 0;
  for (int look = 0; look < looks; ++look) {
    checked = measure(record, time_turn, budget_s / looks);
    if (checked.holds()) return checked;
    regressions += checked.regressed() ? 1 : 0;
  }
  if (checked.regressed() && regressions < looks)
    checked.verdict = fmt::format("unknown: {} of {} looks say \"{}\"", regressions, looks, checked.verdict);
  return checked;
}

std::string file_of(const WisdomRecord& record) {
  return record.source.substr(0, record.source.find_last_of("#:"));
}

// Of several records of one identity the one that lookups take: the last of the first file that has any.
std::vector<StoredRecord> without_duplicates(std::vector<StoredRecord> records) {
  std::map<std::string, std::size_t> known;
  std::vector<StoredRecord> distinct;
  for (StoredRecord& record : records) {
    const auto [at, inserted] = known.emplace(identity_of(record), distinct.size());
    if (inserted)
      distinct.push_back(std::move(record));
    else if (file_of(distinct[at->second]) == file_of(record))
      distinct[at->second] = std::move(record);
  }
  return distinct;
}

// The records of a problem whatever its batch, as wisdom finds them.
GemmProblem described(GemmProblem problem) {
  problem.batch_count = 1, problem.stride_a = problem.stride_b = problem.stride_c = 0;
  return problem;
}

// The family of the list whose configs the record's is one of; null where none is or the machine is another.
const TuneFamily* family_of(const StoredRecord& record, const FamilyList& families, TuneMachine& machine) {
  for (const TuneFamily* family : families)
    if (record.family == family->name() && !family->declines(record.what) &&
        is_same_device(machine.device_name(record.what.location), record.device) &&
        family->runs(record.config, machine))
      return family;
  return nullptr;
}

}  // namespace

std::vector<StoredRecord> records_to_check(const std::vector<WisdomRecord>& records,
                                           const std::vector<GemmProblem>& problems, Location location,
                                           const FamilyList& families, TuneMachine& machine) {
  const auto is_ours = [&](const WisdomRecord& record) {
    return std::any_of(families.begin(), families.end(),
                       [&](const TuneFamily* family) { return record.family == family->name(); });
  };
  std::vector<StoredRecord> chosen;
  for (const WisdomRecord& record : records) {
    if (!record.passed() || record.dropped || record.objective != "time" || !is_ours(record)) continue;
    StoredRecord stored{record, parse_problem(record.problem), nullptr};
    const auto names = [&](const GemmProblem& problem) {
      return described(searched_problem(problem)) == described(stored.what);
    };
    if (stored.what.location != location) continue;
    if (!problems.empty() && std::none_of(problems.begin(), problems.end(), names)) continue;
    stored.made_by = family_of(stored, families, machine);
    if (stored.made_by != nullptr) chosen.push_back(std::move(stored));
  }
  chosen = without_duplicates(std::move(chosen));
  std::stable_sort(chosen.begin(), chosen.end(),
                   [](const auto& x, const auto& y) { return x.what.dtype < y.what.dtype; });
  return chosen;
}

Checked agreed(const Checked& first, const Checked& second) {
  if (!second.holds()) return second;
  Checked checked = second;
  checked.verdict = fmt::format("unknown: it holds now, after a first \"{}\"", first.verdict);
  return checked;
}

Checked recheck(const StoredRecord& record, double budget_s, TuneMachine& machine) {
  ChoiceRules rules;
  rules.incumbent = record.config;
  rules.incumbent_only = true;
  const OpenProblem open = record.made_by->open(record.what, rules, machine, cold_bytes);
  if (!open.incumbent) return {.verdict = "regression: the config is no longer legal"};
  CheckedPool& pool = *open.pool;
  const std::size_t places[] = {*open.incumbent, 0};
  if (!pool.is_right(places[0])) return {.verdict = "regression: it is wrong: " + pool.failure(places[0])};
  if (!pool.is_right(places[1]))
    return {.verdict = "unknown: the default to compare it with fails: " + pool.failure(places[1])};
  // Turns as long as those that tuning ends with: at a card's power limit its clock follows slowly.
  const double turn_s = record.made_by->pace().longest_final_s;
  return rematch(
      record, [&](std::size_t i) { return pool.time(places[i], turn_s).seconds; }, budget_s);
}

}  // namespace tilewright::cli
