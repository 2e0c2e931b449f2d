// Which records are checked and what is said of each; measuring them again is the library's.
#include "tune_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "core/build_info.hpp"
#include "lists.hpp"
#include "measure/ceilings.hpp"
#include "measure/clock.hpp"
#include "output/json_lines.hpp"
#include "output/progress.hpp"
#include "recheck.hpp"
#include "tune_report.hpp"
#include "verbs.hpp"
#include "wisdom/wisdom.hpp"

namespace tilewright::cli {
namespace {

// What has no meaning where nothing is searched.
void refuse_for_check(const TuneFlags& flags) {
  refuse_search_flags(flags, {{"--sweep", !flags.sweep.empty()}, {"--resume", flags.resume}},
                      "--check, which searches nothing");
  if (flags.objective != "time")
    throw Error(ErrorCode::unsupported, "--objective",
                fmt::format("--objective = '{}': --check measures time, and records of that objective only",
                            flags.objective));
  if (flags.wisdom == "none")
    throw Error(ErrorCode::invalid_argument, "--wisdom", "--wisdom = none leaves no records to check");
}

// Regret is by how much the default costs more; 0 gain: it was not measured, or not known when recorded.
void print_checked(std::FILE* out, const StoredRecord& record, const Checked& checked) {
  const auto regret = [](double gain) {
    return gain > 0 ? fmt::format("{:.1f} %", 100 * (gain - 1)) : std::string("unknown");
  };
  fmt::print(out, "{} [{}]: {}", record.problem, record.source, checked.verdict);
  if (checked.gain > 0)
    fmt::print(out, "; {:.4g} ns per problem, default {:.4g} ns, regret of the default {}, was {}",
               checked.seconds.centre * 1e9, checked.seconds.centre * checked.gain * 1e9,
               regret(checked.gain), regret(checked.gain_before));
  fmt::print(out, "\n");
}

// The records in the order in which lookups believe them: of --wisdom alone, else of all files in use.
std::vector<WisdomRecord> believed_records(const TuneFlags& flags, const Context& context) {
  if (flags.wisdom.empty())
    return Access::impl(context).wisdom() == nullptr ? std::vector<WisdomRecord>()
                                                     : Access::impl(context).wisdom()->records();
  std::error_code error;
  if (!std::filesystem::is_regular_file(flags.wisdom, error))
    throw Error(ErrorCode::invalid_argument, "--wisdom",
                fmt::format("--wisdom = '{}' cannot be opened", flags.wisdom));
  return Wisdom({flags.wisdom}, "").records();
}

// Whose records are asked for. Throws Error(invalid_argument) for problems of both.
Location place_of(const TuneFlags& flags, const std::vector<GemmProblem>& problems) {
  if (problems.empty()) return flags.location == "device" ? Location::device : Location::host;
  const auto on_gpu = [](const GemmProblem& p) { return p.location == Location::device; };
  const auto count = std::count_if(problems.begin(), problems.end(), on_gpu);
  if (count != 0 && count != std::ssize(problems))
    throw Error(ErrorCode::invalid_argument, "--check",
                fmt::format("--check: {} of {} problems lie on the device; check them and the others apart",
                            count, problems.size()));
  return problems.front().location;
}

// A measurement as the tuner writes it, of now; what was recorded stands beside it.
nlohmann::json line_of(const StoredRecord& record, const Checked& checked, const std::string& device) {
  WisdomRecord now = record;
  now.energy_j.reset();
  now.seconds = checked.seconds.centre;
  now.device = device;
  nlohmann::json line = measured_line(now);
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
            fmt::format("unknown: no time is left of --budget = {} to look again, after a first \"{}\"",
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
    print_checked(json_.people(), record, checked);
    if (checked.gain > 0) gains_.push_back(checked.gain);
    json_.write(line_of(record, checked, device_));
  }

  void conclude(std::int64_t left) {
    fmt::print(json_.people(), "{} of {} records hold{}\n", held_, done_,
               gains_.empty() ? ""
                              : fmt::format("; regret of the defaults {:.1f} % (geometric mean)",
                                            100 * (geometric_mean(gains_) - 1)));
    if (left > 0)
      fmt::print(json_.people(), "{} records are left unchecked: --budget = {} is used\n", left,
                 flags_.budget);
    if (regressions_ > 0)
      throw JobFailed(fmt::format("{} of {} stored records regressed", regressions_, done_));
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
    throw Error(ErrorCode::invalid_argument, "--check",
                fmt::format("--check: no stored record of '{}' is for these problems",
                            machine.device_name(location)));
  CheckRun(flags, records, machine, machine.device_name(location)).run();
}

}  // namespace tilewright::cli
