// The verb record: reads logs of the problems that programs multiplied, as TILEWRIGHT_RECORD and `gemm
// --record` write them. It merges the logs of several processes into one and lists the problems that took the
// time; `tune --from` reads the result.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <numeric>

#include "core/input/checked.hpp"
#include "core/new_file.hpp"
#include "core/problem.hpp"
#include "core/quantity.hpp"
#include "core/record_log.hpp"
#include "output/json_lines.hpp"
#include "people/refusal.hpp"
#include "verbs.hpp"

namespace tilewright::cli {
namespace {

struct RecordFlags {
  std::vector<std::string> logs;
  std::string output;
  int top = 20;
};

double seconds_of(const std::vector<RecordedRuns>& runs) {
  return std::accumulate(runs.begin(), runs.end(), 0.0, [](double sum, const RecordedRuns& one) {
    return saturating_sum(sum, one.seconds);
  });
}

void check_logs(const RecordFlags& flags) {
  for (auto log = flags.logs.begin(); log != flags.logs.end(); ++log) {
    if (is_same_file(*log, flags.output))
      refuse_value("--output", flags.output, "is one of the logs and would be counted twice");
    if (std::any_of(flags.logs.begin(), log, [&](const auto& before) { return is_same_file(before, *log); }))
      wrong_use("LOG", "LOG = '{}' is given twice", *log);
  }
}

// Reads all logs before it writes anything, so that a bad log changes nothing.
void merge(const RecordFlags& flags) {
  check_logs(flags);
  std::vector<RecordedRuns> all;
  for (const std::string& log : flags.logs) {
    require_readable("LOG", log);
    const auto runs = read_record(log);
    all.insert(all.end(), runs.begin(), runs.end());
  }
  require_place("output", flags.output);
  check_record(flags.output);
  record_runs(flags.output, all);
  fmt::print("{} lines of {} logs, {}, are added to {}\n", all.size(), flags.logs.size(),
             seconds_text(seconds_of(all)), flags.output);
}

std::string seconds_column(double seconds) {
  return seconds < 1e5 ? fmt::format("{:.6f}", seconds) : fmt::format("{:.5g}", seconds);
}

void list(const RecordFlags& flags) {
  require_readable("LOG", flags.logs.front());
  std::vector<RecordedRuns> runs = read_record(flags.logs.front());
  const double all = seconds_of(runs);
  std::stable_sort(runs.begin(), runs.end(),
                   [](const auto& x, const auto& y) { return x.seconds > y.seconds; });
  fmt::print("{:>12}{:>8}{:>12}{:>10}  {}\n", "seconds", "share", "count", "GFLOP/s", "problem");
  for (std::size_t i = 0; i < std::min(runs.size(), std::size_t(flags.top)); ++i) {
    const RecordedRuns& one = runs[i];
    fmt::print(
        "{:>12}{:>6.1f} %{:>12}{:>10}  {}\n", seconds_column(one.seconds),
        all > 0 ? 100 * (one.seconds / all) : 0.0, one.count,
        digits_text(one.seconds > 0 ? flops(one.problem) * double(one.count) / one.seconds / 1e9 : 0.0, 3),
        to_string(one.problem));
  }
  fmt::print("{}, {}\n", counted(std::ssize(runs), "problem"), seconds_text(all));
}

}  // namespace

void add_record(CLI::App& app) {
  CLI::App* verb =
      app.add_subcommand("record", "Merge or list logs of the problems of programs (for tune --from)");
  verb->require_subcommand(1);
  verb->footer("Example: tilewright record merge rank0.jsonl rank1.jsonl -o all.jsonl");
  const auto flags = std::make_shared<RecordFlags>();
  CLI::App* merging = verb->add_subcommand("merge", "Add up the logs of several processes");
  merging->add_option("LOG", flags->logs, "logs; they are not changed")->required();
  merging->add_option("-o,--output", flags->output, "log to create or add to")->required();
  merging->footer("Example: tilewright record merge rank0.jsonl rank1.jsonl -o all.jsonl");
  merging->callback([flags] { merge(*flags); });
  CLI::App* listing = verb->add_subcommand("list", "List the problems that took longest");
  listing->add_option("LOG", flags->logs, "a log")->required()->expected(1);
  listing->add_option("--top", flags->top, "number of problems; 0: their sum only")->check(whole_number(0));
  listing->footer("Example: tilewright record list all.jsonl --top 5");
  listing->callback([flags] { list(*flags); });
}

}  // namespace tilewright::cli
