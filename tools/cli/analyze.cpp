// `tilewright analyze`: turns recorded sweeps into one HTML report and JSON. tools/analyze computes;
// analyze_report.cpp words the report.
#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>

#include "analyze/counters.hpp"
#include "bench/provenance.hpp"
#include "core/input/failure.hpp"
#include "core/new_file.hpp"
#include "core/quantity.hpp"
#include "output/json_lines.hpp"
#include "output/progress.hpp"
#include "people/refusal.hpp"
#include "people/table.hpp"
#include "report/analyze_figures.hpp"
#include "verbs.hpp"

namespace tilewright::cli {
namespace {

struct AnalyzeFlags {
  std::vector<std::string> sweeps;
  std::string html, json, counters, order, problem;
  bool across_sources = false;
};

constexpr std::int64_t progress_steps = 100;
constexpr std::size_t least_configs = 20;  // of a sweep; problems with fewer only accompany it

// Throws rather than overwrite recorded sweeps with their analysis.
void refuse_to_overwrite(const AnalyzeFlags& flags) {
  std::vector<NamedFile> inputs{{"--counters", flags.counters}, {"--order", flags.order}};
  for (const std::string& sweep : flags.sweeps) inputs.push_back({"SWEEP", sweep});
  keep_files_apart(inputs, {{"--json", flags.json}, {"--html", flags.html}});
}

std::vector<SweepCase> all_cases(const AnalyzeFlags& flags) {
  for (std::size_t i = 0; i < flags.sweeps.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      if (is_same_file(flags.sweeps[i], flags.sweeps[j]))
        refuse_value("SWEEP", flags.sweeps[i], "is given twice");
  std::vector<SweepCase> cases = sweep_cases(read_sweeps(flags.sweeps), {flags.across_sources});
  if (cases.empty()) wrong_use("sweep", "SWEEP = '{}' contains no measured config", flags.sweeps.front());
  return cases;
}

// Returns the requested problem, or those with enough configs; all of them if none has enough.
std::vector<SweepCase> chosen_cases(const AnalyzeFlags& flags, const std::vector<SweepCase>& all) {
  std::vector<SweepCase> chosen;
  std::string known;
  for (const SweepCase& one : all) {
    known += (known.empty() ? "" : ", ") + one.problem;
    if (flags.problem.empty() ? one.points.size() >= least_configs : one.problem == flags.problem)
      chosen.push_back(one);
  }
  if (chosen.empty() && !flags.problem.empty())
    wrong_use("--problem", "--problem = '{}' is not in the sweep, which has {}", flags.problem, known);
  return chosen.empty() ? all : chosen;
}

void add_counters(const AnalyzeFlags& flags, std::vector<SweepCase>& cases) {
  if (flags.counters.empty() != flags.order.empty())
    wrong_use(flags.counters.empty() ? "--order" : "--counters",
              "--counters (the profiler's CSV) and --order (of the launches) must be given together");
  if (flags.counters.empty()) return;
  const auto profile = read_profile(flags.counters);
  const auto order = read_launch_order(flags.order);
  if (join_counters(cases, profile, order) == 0)
    wrong_use("--order", "--order = '{}': none of its configs is in the sweep", flags.order);
}

// Prints the counters of each launch of a profile without a sweep.
void run_counters(const AnalyzeFlags& flags) {
  if (flags.counters.empty() || flags.order.empty() || flags.json.empty())
    wrong_use(
        "SWEEP",
        "SWEEP is missing: name recorded sweeps, or --counters, --order and --json for single launches");
  const auto head = read_order_head(flags.order);
  const auto rows = launch_counters(read_profile(flags.counters), read_launch_order(flags.order));
  // Opened after all files were read: an existing file stays if one of them cannot be read.
  JsonLines json(flags.json);
  json.write(head);
  for (const auto& row : rows) json.write(row);
}

void print_summary(std::FILE* to, const CaseAnalysis& a) {
  std::size_t left_out = 0;
  for (const auto& [reason, count] : a.sweep.excluded) left_out += count;
  const auto line = [&](const std::string& text) { fmt::print(to, "{}\n", people::wrapped(text, 4)); };
  line(fmt::format("{}: {}, {} with energy; {} left out or without energy", a.sweep.problem,
                   counted(std::ssize(a.sweep.points), "config"), a.points.size(), left_out));
  const SpeedSummary& speed = a.speed;
  line(fmt::format("  best {} GFLOP/s{}", digits_text(a.sweep.points[speed.best].gflops),
                   speed.standard
                       ? fmt::format(", default {}: regret {:.1f} %",
                                     digits_text(a.sweep.points[*speed.standard].gflops), 100 * speed.regret)
                       : ""));
  if (!speed.axes.empty())
    line(fmt::format("  most depends on {}: {} instead of {} costs {:.1f} %", speed.axes[0].axis,
                     speed.axes[0].worst_value, speed.axes[0].best_value, 100 * speed.axes[0].loss));
  for (const auto& [reason, count] : a.sweep.excluded)
    line(fmt::format("  {} {}", counted(std::int64_t(count), "config"), reason));
  for (const auto& [note, count] : a.sweep.notes)
    line(fmt::format("  {}: {}", counted(std::int64_t(count), "row"), note));
  for (const SweepJoin& join : a.sweep.joins)
    if (join.time_factor != 1 || join.energy_factor != 1)
      line(fmt::format("  card {} joined by the sentinel: time x {:.4f}, energy x {:.4f}", join.uuid,
                       join.time_factor, join.energy_factor));
  if (!a.quadrants) return;
  for (const auto& [name, i] :
       {std::pair("fastest", a.quadrants->fastest), std::pair("most efficient", a.quadrants->frugal)})
    fmt::print(to, "  {}: {:.1f} GFLOP/s, {:.2f} GFLOP/s/W\n", name, a.plane[i].x, a.plane[i].y);
}

void run_analyze(const AnalyzeFlags& flags) {
  refuse_to_overwrite(flags);
  if (flags.sweeps.empty()) {
    run_counters(flags);
    return;
  }
  if (flags.html.empty() && flags.json.empty())
    wrong_use("--html", "--html or --json is required: the output of the analysis");
  // Reports before the work that the file cannot be written.
  if (!flags.html.empty()) OutputFile({"--html", flags.html});
  std::vector<SweepCase> all = all_cases(flags);
  add_counters(flags, all);
  JsonLines json(flags.json);
  json.head({{"command", command_line()}, {"section", "run"}});
  std::vector<CaseAnalysis> analyses;
  for (SweepCase& one : chosen_cases(flags, all)) {
    Progress progress("predictions of unseen configs", progress_steps);
    analyses.push_back(analyse(std::move(one), [&](std::size_t done, std::size_t of) {
      progress.show(static_cast<std::int64_t>(std::size_t(progress_steps) * done / of));
    }));
    progress.clear();
    print_summary(json.people(), analyses.back());
    for (const auto& line : to_json_lines(analyses.back())) json.write(line);
  }
  // Written last, so that only the drawings are lost without gnuplot.
  if (!flags.html.empty()) write_file({"--html", flags.html}, analysis_page(analyses, all, flags.sweeps));
}

}  // namespace

void add_analyze(CLI::App& app) {
  auto flags = std::make_shared<AnalyzeFlags>();
  CLI::App* verb = app.add_subcommand("analyze", "Analyze time, energy and their causes in a recorded sweep");
  verb->add_option("SWEEP", flags->sweeps,
                   "files of recorded sweeps; cards are joined by their sentinel. Without any, --counters of "
                   "single launches become rows of --json");
  verb->add_option("--html", flags->html, "report file: one page with figures (needs gnuplot)");
  verb->add_option("--json", flags->json, "the same as JSON, one object per line; - is stdout");
  verb->add_option("--problem", flags->problem, "analyze only this problem of the sweep");
  verb->add_flag("--across-sources", flags->across_sources,
                 "join rows of different kernel sources too, and note the source of each row");
  verb->add_option("--counters", flags->counters, "counters of Nsight Compute (ncu --csv --page raw)");
  verb->add_option("--order", flags->order, "order in which their kernels were launched");
  verb->footer(
      "Example: tilewright analyze sweep.jsonl --html report.html --json report.jsonl\n"
      "Example: tilewright analyze --counters ncu.csv --order order.jsonl --json counters.jsonl");
  verb->callback([flags] { run_analyze(*flags); });
}

}  // namespace tilewright::cli
