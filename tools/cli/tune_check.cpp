// Selects the records to check and reports each; the library measures them again.
#include "tune_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>

#include "core/build_info.hpp"
#include "core/quantity.hpp"
#include "lists.hpp"
#include "measure/ceilings.hpp"
#include "measure/clock.hpp"
#include "measure/contest.hpp"
#include "operations/operation.hpp"
#include "output/json_lines.hpp"
#include "output/progress.hpp"
#include "people/refusal.hpp"
#include "people/table.hpp"
#include "report/wisdom_table.hpp"
#include "tune/tuner.hpp"
#include "verbs.hpp"
#include "wisdom/key.hpp"
#include "wisdom/store.hpp"
#include "wisdom/wisdom.hpp"

namespace tilewright::cli {
namespace {

// Refuses flags that mean nothing without a search.
void refuse_for_check(const TuneFlags& flags) {
  refuse_search_flags(flags, {{"--sweep", !flags.sweep.empty()}, {"--resume", flags.resume}},
                      "--check, which does not search");
  if (flags.objective != "time")
    not_supported("--objective",
                  "--objective = '{}' is not supported by --check, which measures records of time only",
                  flags.objective);
  if (flags.wisdom == "none")
    wrong_use("--wisdom", "--wisdom = none conflicts with --check: there are no records to check");
}

const people::Table& check_table() {
  static const people::Table table("problem 40< | default 9 | record 9 | gain 8 | it was 8 | verdict 21<");
  return table;
}

// Gain is by how much the default costs more; 0: it was not measured, or not known when recorded.
void print_checked(std::FILE* out, const StoredRecord& record, const Checked& checked) {
  const auto gain = [](double ratio) {
    return ratio > 0 ? fmt::format("{:+.1f} %", 100 * (ratio - 1)) : std::string("unknown");
  };
  const std::size_t colon = checked.verdict.find(": ");
  const std::string verdict = checked.verdict.substr(0, colon);
  std::vector<std::string> cells{short_name(record.problem), "", "", "", gain(checked.gain_before), verdict};
  if (checked.gain > 0) {
    cells[1] = seconds_text(checked.seconds.centre * checked.gain);
    cells[2] = seconds_text(checked.seconds.centre);
    cells[3] = gain(checked.gain);
  }
  fmt::print(out, "{}\n", check_table().row(cells));
  if (colon != std::string::npos)
    fmt::print(out, "{}\n",
               people::wrapped(fmt::format("  {} [{}]", checked.verdict.substr(colon + 2), record.source)));
}

// The records in the order in which lookups believe them: of --wisdom, else the user's, with --shipped those
// of all files in use.
std::vector<WisdomRecord> believed_records(const TuneFlags& flags, const Context& context) {
  const Context::Impl& impl = Access::impl(context);
  if (flags.shipped) return impl.wisdom() == nullptr ? std::vector<WisdomRecord>() : impl.wisdom()->records();
  if (flags.wisdom.empty() && impl.own_wisdom.empty()) return {};
  if (flags.wisdom.empty()) return Wisdom({impl.own_wisdom}, "").records();
  std::error_code error;
  if (!std::filesystem::is_regular_file(flags.wisdom, error))
    refuse_value("--wisdom", flags.wisdom, "cannot be opened");
  return Wisdom({flags.wisdom}, "").records();
}

// Whose records are asked for. Throws Error(invalid_argument) for problems of both.
Location place_of(const TuneFlags& flags, const std::vector<GemmProblem>& problems) {
  if (problems.empty()) return flags.location == "device" ? Location::device : Location::host;
  const auto on_gpu = [](const GemmProblem& p) { return p.location == Location::device; };
  const auto count = std::count_if(problems.begin(), problems.end(), on_gpu);
  if (count != 0 && count != std::ssize(problems))
    wrong_use("--check",
              "--check: {} of {} problems are on the device: check them and the others in separate runs",
              count, problems.size());
  return problems.front().location;
}

// A measurement as the tuner writes it, of now; what was recorded stands beside it.
nlohmann::json line_of(const StoredRecord& record, const Checked& checked, const std::string& device) {
  WisdomRecord now = record;
  now.energy_j.reset();
  now.seconds = checked.seconds.centre;
  now.device = device;
  nlohmann::json line = measured_line(now, {&product_verbs()});
  line["energy_note"] = "--check reads no meter";
  const bool is_measured = checked.seconds.samples > 0;
  const auto if_measured = [&](double value) {
    return is_measured ? nlohmann::json(value) : nlohmann::json();
  };
  line["verdict"] = checked.verdict, line["source"] = record.source;
  line["seconds"] = if_measured(checked.seconds.centre);
  line["seconds_low"] = if_measured(checked.seconds.low);
  line["seconds_high"] = if_measured(checked.seconds.high);
  line["samples"] = checked.seconds.samples;
  line["recorded_seconds"] = record.seconds;
  line["gain"] = checked.gain, line["recorded_gain"] = checked.gain_before;
  line["commit"] = build_commit, line["time"] = time_now();
  return line;
}

// All records once, and those that seem to have regressed once more behind all others: what disturbed one
// look does not disturb the other.
class CheckRun {
 public:
  CheckRun(const TuneFlags& flags, std::vector<StoredRecord> records, TuneMachine& machine,
           std::string device)
      : flags_(flags),
        records_(std::move(records)),
        machine_(machine),
        device_(std::move(device)),
        json_(flags.json),
        progress_("check", std::int64_t(records_.size())),
        begin_s_(wall_seconds()),
        budget_s_(flags.budget.empty() ? 0 : parse_duration("--budget", flags.budget)) {}

  void run() {
    std::vector<std::pair<const StoredRecord*, Checked>> suspects;
    std::size_t next = 0;
    for (; next < records_.size() && (next == 0 || !is_spent()); ++next) {
      const StoredRecord& record = records_[next];
      const Checked checked = look(record, records_.size() - next + suspects.size());
      if (checked.regressed())
        suspects.emplace_back(&record, checked);
      else
        tell(record, checked);
    }
    for (std::size_t i = 0; i < suspects.size(); ++i) {
      const auto& [record, first] = suspects[i];
      if (!first.is_measured()) {
        tell(*record, first);
      } else if (i > 0 && is_spent()) {
        Checked open = first;
        open.verdict =
            fmt::format("unknown: no time is left of --budget = {} to check again after a first \"{}\"",
                        flags_.budget, first.verdict);
        tell(*record, open);
      } else {
        tell(*record, agreed(first, look(*record, suspects.size() - i)));
      }
    }
    conclude(std::int64_t(records_.size() - next));
  }

 private:
  bool is_spent() const { return !flags_.budget.empty() && wall_seconds() - begin_s_ >= budget_s_; }

  Checked look(const StoredRecord& record, std::size_t still_to_do) {
    progress_.show(done_, record.problem);
    const double left_s = std::max(0.0, budget_s_ - (wall_seconds() - begin_s_));
    return recheck(
        record, flags_.budget.empty() ? record.made_by->pace().check_budget_s : left_s / double(still_to_do),
        machine_);
  }

  void tell(const StoredRecord& record, const Checked& checked) {
    ++done_;
    regressions_ += checked.regressed() ? 1 : 0;
    held_ += checked.holds() ? 1 : 0;
    progress_.clear();
    if (done_ == 1) fmt::print(json_.people(), "{}\n", people::bold(json_.people(), check_table().head()));
    print_checked(json_.people(), record, checked);
    if (checked.gain > 0) gains_.push_back(checked.gain);
    json_.write(line_of(record, checked, device_));
  }

  void conclude(std::int64_t left) {
    fmt::print(json_.people(), "{} of {} hold{}\n", held_, counted(done_, "record"),
               gains_.empty() ? ""
                              : fmt::format("; regret of the defaults {:.1f} % (geometric mean)",
                                            100 * (geometric_mean(gains_) - 1)));
    if (left > 0)
      fmt::print(json_.people(), "{} not checked: --budget = {} is used up\n",
                 left == 1 ? "1 record is" : fmt::format("{} records are", left), flags_.budget);
    if (regressions_ > 0)
      throw JobFailed(fmt::format("{} of {} regressed", regressions_, counted(done_, "stored record")));
  }

  const TuneFlags& flags_;
  std::vector<StoredRecord> records_;
  TuneMachine& machine_;
  std::string device_;
  JsonLines json_;
  Progress progress_;
  double begin_s_, budget_s_;
  std::int64_t done_ = 0, held_ = 0, regressions_ = 0;
  std::vector<double> gains_;
};

// A record is a promise about a ratio (the default's time over its own), which a slower clock or a busy
// neighbour changes little; so that is what is measured and compared.

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
    checked.verdict = fmt::format("unknown: the machine drifts too much ({} paired rounds of {} remain)",
                                  verdict.rounds, verdict.rounds + verdict.discarded);
    return checked;
  }
  checked.gain = verdict.ratios[1].centre;
  checked.gain_before = recorded_gain(record);
  // The record must keep its gain over the default, or at least not be slower.
  const double width =
      std::max({tolerance, recorded_spread(record), (verdict.ratios[1].high - verdict.ratios[1].low) / 2});
  if (width > widest)
    checked.verdict =
        fmt::format("unknown: the ratio to the default has an uncertainty of {:.0f} %", 100 * width);
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
    checked.verdict = fmt::format("unknown: {} of {} checks say \"{}\"", regressions, looks, checked.verdict);
  return checked;
}

std::string file_of(const WisdomRecord& record) {
  return record.source.substr(0, record.source.find_last_of("#:"));
}

// Keeps one of several records of one identity, the one that lookups use: the last of the first file that has
// any.
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

void check_records(const TuneFlags& flags, const Context& context) {
  refuse_for_check(flags);
  const bool all = names_no_problem(flags);
  const auto problems = all ? std::vector<GemmProblem>() : problems_of(flags);
  TuneMachine machine = machine_of(flags, Access::impl(context).isa);
  const Location location = place_of(flags, problems);
  const auto records =
      records_to_check(believed_records(flags, context), problems, location, tune_families(), machine);
  if (records.empty())
    wrong_use("--check", "--check: no stored record of '{}' is for these problems{}",
              machine.device_name(location),
              flags.shipped || !flags.wisdom.empty() ? "" : "; --shipped checks those of tilewright too");
  CheckRun(flags, records, machine, machine.device_name(location)).run();
}

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
  checked.verdict = fmt::format("unknown: it holds now, but the first check said \"{}\"", first.verdict);
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
