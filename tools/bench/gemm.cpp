// The families gemm_small_cpu, gemm_small and gemm: compares multiplications with those of the peers or, if
// only checks were requested, their errors.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "bench/family.hpp"
#include "bench/machine.hpp"
#include "bench/plans.hpp"
#include "bench/provenance.hpp"
#include "bench/report.hpp"

namespace tilewright::bench {
namespace {

class Gemm : public Family {
 public:
  explicit Gemm(const Plan& plan) : plan_(plan), machine_(machine_for(plan)) {
    machine_->prepare(plan.cases);
  }

  std::vector<std::string> head() override {
    std::vector<std::string> lines = machine_->describe();
    std::erase_if(lines, [&](const std::string& line) {
      const bool is_absence = line.starts_with("not here: ");
      if (is_absence) note(line);
      return is_absence;
    });
    if (!plan_.check_only && !plan_.once && plan_.races == 0) lines.push_back(table_head());
    return lines;
  }

  CaseOutput measure(const Case& c) override {
    if (plan_.once) return launch_once(c);
    const CaseResult result = run_case(*machine_, c);
    CaseOutput output;
    note_asides(result);
    look_at_errors(result);
    if (plan_.races > 0) {
      tell_races(result, output);
      return output;
    }
    if (plan_.check_only) {
      tell_check(result, output);
      return output;
    }
    output.lines.push_back(table_line(result));
    if (plan_.counters) tell_counters(result, output);
    output.rows = json_of(result);
    output.seconds = result.tested().seconds.centre;
    summary_.add(result);
    return output;
  }

  CaseOutput finish() override {
    CaseOutput output{summary_.lines(), summary_.objects()};
    if (!output.lines.empty()) {
      output.lines.insert(output.lines.begin(), "");
      for (const std::string& line : table_notes(summary_.has_defaults())) output.lines.push_back(line);
    }
    for (const auto& [reason, names] : absent_)
      output.lines.push_back(fmt::format("{} ({})", fmt::join(names, ", "), reason));
    output.lines.insert(output.lines.end(), notes_.begin(), notes_.end());
    if (errs_more_ > 0)
      output.failure = fmt::format(
          "--most-error-ratio = {}: the errors of tilewright are larger in {} cases; the first is {}",
          plan_.most_error_ratio, errs_more_, first_that_errs_);
    if (races_ > 0) output.failure = fmt::format("--races = {}: {} results differ", plan_.races, races_);
    return output;
  }

 private:
  // Keeps a line for the notes below the table, once. Those of one reason, "not here: mkl (not found)",
  // become one.
  void note(const std::string& line) {
    const std::size_t open = line.find(" ("), colon = line.find(": ");
    if (!line.ends_with(')') || open == std::string::npos || colon > open) {
      if (std::find(notes_.begin(), notes_.end(), line) == notes_.end()) notes_.push_back(line);
      return;
    }
    const std::string reason = line.substr(open + 2, line.size() - open - 3);
    const std::string kind = line.substr(0, colon + 2), name = line.substr(colon + 2, open - colon - 2);
    auto same = std::find_if(absent_.begin(), absent_.end(), [&](const auto& one) {
      return one.first == reason && one.second.front().starts_with(kind);
    });
    if (same == absent_.end()) {
      absent_.emplace_back(reason, std::vector{kind + name});
    } else if (auto& names = same->second;
               names.front() != kind + name && std::find(names.begin(), names.end(), name) == names.end()) {
      names.push_back(name);
    }
  }

  // Notes why implementations are missing from the comparison, and what may have disturbed it.
  void note_asides(const CaseResult& result) {
    for (const Absence& absence : result.absences)
      note(fmt::format("left out: {} ({})", absence.impl, absence.reason));
    for (const std::string& one : result.notes)
      if (const std::string line = "NOTE " + one;
          std::find(notes_.begin(), notes_.end(), line) == notes_.end())
        notes_.push_back(line);
  }

  // Counts the cases in which tilewright errs too much compared with the best peer, or there is no peer to
  // compare with.
  void look_at_errors(const CaseResult& result) {
    if (plan_.most_error_ratio == 0) return;
    const auto ratio = result.error_ratio(Role::peer);
    if (ratio && *ratio <= plan_.most_error_ratio) return;
    if (errs_more_++ == 0)
      first_that_errs_ = fmt::format(
          "{}: {}", problem_text(result.bench_case),
          ratio ? fmt::format("{:.3f} times as much", *ratio) : std::string("no peer to compare with"));
  }

  static void tell_check(const CaseResult& result, CaseOutput& output) {
    const auto ratio = result.error_ratio(Role::peer);
    const Contender& tested = result.tested();
    output.lines.push_back(fmt::format(
        "{}: {} right{}", problem_text(result.bench_case),
        result.impls.size() == 1 ? "1 implementation is"
                                 : fmt::format("{} implementations are", result.impls.size()),
        ratio ? fmt::format(", the errors of tilewright are {:.3f} times those of the best peer", *ratio)
              : ""));
    nlohmann::json row{{"phase", "check"},
                       {"problem", problem_text(result.bench_case)},
                       {"data", to_string(result.bench_case.data)},
                       {"config", tested.plan ? config_of(*tested.plan) : nlohmann::json()},
                       {"right", result.impls.size()},
                       {"error_rms", tested.accuracy.rms},
                       {"error_ratio", ratio ? nlohmann::json(*ratio) : nlohmann::json()}};
    add_provenance(row);
    row.update(result.provenance);
    output.rows.push_back(row);
  }

  // Launches each kernel once and no other kernel of tilewright, so that a profiler's list of kernels matches
  // the rows.
  CaseOutput launch_once(const Case& c) {
    const auto stage = machine_->stage(c);
    std::vector<Contender> all = {stage->tested("tilewright", machine_->context, stage->options())};
    std::vector<Absence> absences;
    stage->add_peers(all, absences);
    CaseOutput output;
    for (const Contender& one : all) {
      output.rows.push_back({{"order", launched_++},
                             {"impl", one.impl},
                             {"problem", problem_text(c)},
                             {"dtype", to_string(c.problem.dtype)},
                             {"layout", to_string(c.layout)},
                             {"n", c.problem.n},
                             {"beta", c.beta},
                             {"bound_bytes", stage->bytes()}});
      output.rows.back().update(stage->launch_once(one));
    }
    return output;
  }

  void tell_races(const CaseResult& result, CaseOutput& output) {
    for (const Contender& one : result.impls) {
      if (one.role != Role::tested) continue;
      nlohmann::json row = case_keys(result.bench_case);
      row.update({{"phase", "repeat"},
                  {"impl", one.impl},
                  {"config", one.plan ? config_of(*one.plan) : nlohmann::json()},
                  {"launches", plan_.races},
                  {"moved", one.moved}});
      add_provenance(row);
      row.update(result.provenance);
      output.rows.push_back(row);
      races_ += one.moved > 0;
      output.lines.push_back(fmt::format("{}: {} of {} launches of {} differ from the first",
                                         problem_text(result.bench_case), one.moved, plan_.races, one.impl));
    }
  }

  void tell_counters(const CaseResult& result, CaseOutput& output) {
    const bool on_device = result.bench_case.on_device();
    for (const Contender& impl : result.impls) {
      if (impl.role != Role::tested || (!on_device && &impl != &result.tested())) continue;
      const std::string who = on_device ? impl.impl + ": " : "";
      const auto lines =
          impl.plan ? counts_of(*impl.plan) : std::vector<std::string>{"generated code: none for this case"};
      for (const std::string& line : lines) output.lines.push_back("  " + who + line);
    }
    for (const std::string& line : machine_->hardware_counts(result.bench_case))
      output.lines.push_back("  " + line);
  }

  const Plan& plan_;
  std::unique_ptr<Machine> machine_;
  Summary summary_;
  std::vector<std::pair<std::string, std::vector<std::string>>> absent_;  // reason and names
  std::vector<std::string> notes_;
  int errs_more_ = 0, races_ = 0;
  std::size_t launched_ = 0;
  std::string first_that_errs_;
};

}  // namespace

std::unique_ptr<Family> gemm_family(const Plan& plan) { return std::make_unique<Gemm>(plan); }

}  // namespace tilewright::bench
