// Which records are checked and what is said of each; measuring them again is the library's.
#include "tune_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "bench/provenance.hpp"
#include "json_lines.hpp"
#include "lists.hpp"
#include "progress.hpp"
#include "tune/recheck.hpp"
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
    return context.impl().wisdom() == nullptr ? std::vector<WisdomRecord>()
                                              : context.impl().wisdom()->records();
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
  const bool all = flags.problems.empty() && flags.sizes.empty() && flags.from.empty();
  const auto problems = all ? std::vector<GemmProblem>() : problems_of(flags);
  TuneMachine machine = machine_of(flags, context.impl().isa);
  const Location location = place_of(flags, problems);
  const auto records =
      records_to_check(believed_records(flags, context), problems, location, tune_families(), machine);
  if (records.empty())
    throw Error(ErrorCode::invalid_argument, "--check",
                fmt::format("--check: no stored record of '{}' is for these problems",
                            machine.device_name(location)));
  const double share_s =
      flags.budget.empty() ? 0 : parse_duration("--budget", flags.budget) / double(records.size());
  JsonLines json(flags.json);
  Progress progress("check", std::int64_t(records.size()));
  std::int64_t done = 0, held = 0, regressions = 0;
  std::vector<double> gains;
  for (const StoredRecord& record : records) {
    progress.show(done++, record.problem);
    const Checked checked =
        recheck(record, flags.budget.empty() ? record.made_by->pace().check_budget_s : share_s, machine);
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
