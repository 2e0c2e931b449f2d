// A record is a promise about a ratio (the default's time over its own), which a slower clock or a busy
// neighbour changes little; so that is what is measured and compared.
#include "tune_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "device/cpu.hpp"
#include "json_lines.hpp"
#include "measure/clock.hpp"
#include "measure/contest.hpp"
#include "progress.hpp"
#include "provenance.hpp"
#include "tune/candidate_timer.hpp"
#include "tune/gate.hpp"
#include "verbs.hpp"
#include "wisdom/store.hpp"

namespace tilewright::cli {
namespace {

constexpr double default_check_s = 0.3;  // per record
constexpr double turn_s = 1e-3;
constexpr double tolerance = 0.05;  // timing differs by about this much from one run to the next
constexpr int looks = 3;            // at a record before it is called a regression

// What has no meaning where nothing is searched.
void refuse_for_check(const TuneFlags& flags) {
  const std::pair<const char*, bool> unused[] = {{"--strategy", flags.strategy != "exhaustive"},
                                                 {"--space", flags.space != "usual"},
                                                 {"--set", !flags.set.empty()},
                                                 {"--where", !flags.where.empty()},
                                                 {"--sweep", !flags.sweep.empty()},
                                                 {"--resume", flags.resume}};
  for (const auto& [name, given] : unused)
    if (given)
      throw Error(ErrorCode::invalid_argument, name,
                  fmt::format("{} has no meaning with --check, which searches nothing", name));
  if (flags.objective != "time")
    throw Error(ErrorCode::unsupported, "--objective",
                fmt::format("--objective = '{}': --check measures time, and records of that objective only",
                            flags.objective));
  if (flags.wisdom == "none")
    throw Error(ErrorCode::invalid_argument, "--wisdom", "--wisdom = none leaves no records to check");
}

// A record of the family that can be measured here, read into its structs.
struct StoredRecord : WisdomRecord {
  GemmProblem what;
  GemmSmallCpuConfig how;
};

struct Checked {
  std::string verdict = "holds";  // or why not
  bool holds() const { return verdict == "holds"; }
  bool regressed() const { return verdict.starts_with("regression"); }
  Estimate seconds;
  double gain = 0, gain_before = 0;  // the default's time over the record's
};

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
Checked measure(const StoredRecord& record, const SmallKernel& own, const SmallKernel& standard,
                CandidateTimer& timer, double budget_s) {
  Checked checked;
  std::vector<double> seconds;
  const double end_s = wall_seconds() + budget_s;
  const Verdict verdict = hold_contest(
      2,
      [&](std::size_t i) {
        const double cost = timer.time(i == 0 ? own : standard, turn_s).seconds;
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

Checked check_record(const StoredRecord& record, double budget_s, Arena& arena) {
  const GemmProblem problem = timed_problem(record.what);
  const Isa isa = record.how.isa;
  Checked checked;
  if (!gemm_small_cpu_space(problem, isa).contains(record.how)) {
    checked.verdict = "regression: the config is no longer legal";
    return checked;
  }
  const auto own = make_gemm_small_cpu(problem, record.how);
  const auto standard = make_gemm_small_cpu(problem, gemm_small_cpu_default(problem, isa));
  if (const auto wrong = Gate(problem, isa).run(*own); !wrong.empty()) {
    checked.verdict = "regression: it is wrong: " + wrong;
    return checked;
  }
  CandidateTimer timer(problem, arena);
  for (int look = 0; look < looks; ++look) {
    checked = measure(record, *own, *standard, timer, budget_s / looks);
    if (checked.holds()) break;
  }
  return checked;
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
  if (!flags.wisdom.empty()) {
    std::error_code error;
    if (!std::filesystem::is_regular_file(flags.wisdom, error))
      throw Error(ErrorCode::invalid_argument, "--wisdom",
                  fmt::format("--wisdom = '{}' cannot be opened", flags.wisdom));
    return Wisdom({flags.wisdom}, cpu_info().device).records();
  }
  return context.impl().wisdom() == nullptr ? std::vector<WisdomRecord>()
                                            : context.impl().wisdom()->records();
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

std::vector<StoredRecord> chosen_records(const TuneFlags& flags, const Context& context) {
  const bool all = flags.problems.empty() && flags.sizes.empty() && flags.from.empty();
  const auto problems = all ? std::vector<GemmProblem>() : problems_of(flags);
  const auto described = [](GemmProblem problem) {
    problem.batch_count = 1, problem.stride_a = problem.stride_b = problem.stride_c = 0;
    return problem;
  };
  std::vector<StoredRecord> chosen;
  for (const WisdomRecord& record : believed_records(flags, context)) {
    if (record.family != "gemm_small_cpu" || !record.passed() || record.dropped ||
        record.objective != flags.objective || !is_same_device(cpu_info().device, record.device))
      continue;
    StoredRecord stored{record, parse_problem(record.problem), from_json<GemmSmallCpuConfig>(record.config)};
    if (stored.how.isa <= context.impl().isa && stored.what.residency != Residency::automatic &&
        (all || std::any_of(problems.begin(), problems.end(), [&](const GemmProblem& problem) {
           return described(problem) == described(stored.what);
         })))
      chosen.push_back(std::move(stored));
  }
  chosen = without_duplicates(std::move(chosen));
  std::stable_sort(chosen.begin(), chosen.end(),
                   [](const auto& x, const auto& y) { return x.what.dtype < y.what.dtype; });
  return chosen;
}

nlohmann::json line_of(const StoredRecord& record, const Checked& checked) {
  nlohmann::json line{{"problem", record.problem},
                      {"source", record.source},
                      {"objective", record.objective},
                      {"config", record.config},
                      {"verdict", checked.verdict},
                      {"seconds", checked.seconds.centre},
                      {"seconds_low", checked.seconds.low},
                      {"seconds_high", checked.seconds.high},
                      {"samples", checked.seconds.samples},
                      {"recorded_seconds", record.seconds},
                      {"gain", checked.gain},
                      {"recorded_gain", checked.gain_before}};
  add_provenance(line);
  return line;
}

}  // namespace

void check_records(const TuneFlags& flags, const Context& context) {
  refuse_for_check(flags);
  const auto records = chosen_records(flags, context);
  if (records.empty())
    throw Error(ErrorCode::invalid_argument, "--check",
                fmt::format("--check: no stored record of '{}' is for these problems", cpu_info().device));
  const double budget_s =
      flags.budget.empty() ? default_check_s : parse_duration(flags.budget) / double(records.size());
  JsonLines json(flags.json);
  Progress progress("check", std::int64_t(records.size()));
  Arena arena;
  std::int64_t done = 0, held = 0, regressions = 0;
  std::vector<double> gains;
  for (const StoredRecord& record : records) {
    progress.show(done++, record.problem);
    const Checked checked = check_record(record, budget_s, arena);
    regressions += checked.regressed() ? 1 : 0;
    held += checked.holds() ? 1 : 0;
    progress.clear();
    print_checked(json.people(), record, checked);
    if (checked.gain > 0) gains.push_back(checked.gain);
    json.write(line_of(record, checked));
  }
  fmt::print(json.people(), "{} of {} records hold{}\n", held, done,
             gains.empty() ? ""
                           : fmt::format("; regret of the defaults {:.1f} % (geometric mean)",
                                         100 * (geometric_mean(gains) - 1)));
  if (regressions > 0) throw JobFailed(fmt::format("{} of {} stored records regressed", regressions, done));
}

}  // namespace tilewright::cli
