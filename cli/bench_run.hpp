// One case measured: every implementation's best way of being called, the ceilings of the same minutes, and
// the bound they give. No printing here.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "bench_contenders.hpp"
#include "core/ceilings.hpp"

namespace tilewright::cli {

struct ImplResult {
  Role role = Role::peer;
  std::string impl;
  std::string version;
  std::string variant;
  Layout stored = Layout::strided;
  Estimate seconds;  // per batch; hot with several threads: of one batch per thread
  Accuracy accuracy;
  std::shared_ptr<const GemmPlan> plan;
  std::optional<double> joules{};  // per batch, under steady load
  double watts = 0;                // of that load
  // Of every round, the same rounds for all that have them; empty where samples are not kept by rounds.
  std::vector<double> rounds{};
};

struct CaseResult {
  BenchCase bench_case;
  std::vector<ImplResult> impls;  // ours first
  std::vector<Absence> absences;
  double work_flops = 0;  // of what `seconds` is the time of
  double bound_s = 0;
  std::string bound_kind;    // memory or compute
  double ceiling = 0;        // GB/s or GFLOP/s
  std::string ceiling_loop;  // the loop that reached it
  double memory_gbytes = 0;  // 0 where not measured
  double compute_gflops = 0;
  double interleaved_bound_s =
      0;  // 0 unless interleaved in l2: the larger of 4/3 of the compute time and L2 streaming

  std::string energy_note = "bench reads no energy meter";  // why impls without joules have none

  std::vector<std::string> notes;  // of what may have disturbed the case

  // Keys beside those that every family has; what provenance names is the GPU's.
  nlohmann::json metrics = nlohmann::json::object(), provenance = nlohmann::json::object();

  const ImplResult& ours() const { return impls.front(); }
  // The fastest of a role; null without any.
  const ImplResult* best(Role role) const;
  // That one's time over ours: the median of the ratios within rounds where there are rounds, of medians
  // elsewhere; 0 without any.
  double ratio(Role role) const;
  // The former with its interval; absent where there are no rounds.
  std::optional<Estimate> paired_ratio(Role role) const;
  // How many times as much ours errs as that one; absent without any.
  std::optional<double> error_ratio(Role role) const;
  // Ours without wisdom; null where it was not timed.
  const ImplResult* without_wisdom() const;
  // Its time over ours: 1 where wisdom agrees with the rule of thumb, 0 where no wisdom is in use.
  double default_ratio() const;
  double bound_share() const { return bound_s / ours().seconds.centre; }
};

// Throws JobFailed when our own result is wrong, Error when the case cannot be planned.
CaseResult run_case(BenchMachine& machine, const BenchPlan& plan, const BenchCase& bench_case);

}  // namespace tilewright::cli
