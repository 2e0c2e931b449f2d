// What was measured of one case: every implementation's best way of being called, and the bound that the
// ceilings of the same minutes give. It says nothing to anybody; report.hpp does.
#pragma once

#include "bench/case.hpp"
#include "bench/contender.hpp"
#include "core/json.hpp"

namespace tilewright::bench {

// Theirs over ours within rounds that both have; absent where these are less than `least`.
std::optional<Estimate> paired_ratio(const std::vector<double>& theirs, const std::vector<double>& ours,
                                     std::size_t least);

struct CaseResult {
  Case bench_case;
  std::vector<Contender> impls;  // ours first
  std::vector<Absence> absences;
  double work_flops = 0;  // of what `seconds` is the time of
  double bound_s = 0;
  std::string bound_kind;    // memory or compute
  double ceiling = 0;        // GB/s or GFLOP/s
  std::string ceiling_loop;  // the loop that reached it
  double memory_gbytes = 0;  // 0 where not measured
  double compute_gflops = 0;
  // 0 unless interleaved in l2: the larger of 4/3 of the compute time and L2 streaming.
  double interleaved_bound_s = 0;
  std::vector<std::string> notes;  // of what may have disturbed the case
  // Keys beside those that every family has; what provenance names is the GPU's.
  nlohmann::json metrics = nlohmann::json::object(), provenance = nlohmann::json::object();

  const Contender& ours() const { return impls.front(); }
  // The fastest of a role; null without any.
  const Contender* best(Role role) const;
  // That one's time over ours: on a GPU the median of the ratios within rounds, else of medians; 0 without
  // any.
  double ratio(Role role) const;
  // The former with its interval; absent where it is not taken.
  std::optional<Estimate> paired_ratio(Role role) const;
  // Of the work by joule, ours over that one's, paired by windows; absent where less than two were weighed.
  std::optional<Estimate> paired_efficiency(Role role) const;
  // How many times as much ours errs as that one; absent without any.
  std::optional<double> error_ratio(Role role) const;
  // Ours without wisdom; null where it was not timed.
  const Contender* without_wisdom() const;
  // Its time over ours: 1 where wisdom agrees with the rule of thumb, 0 where no wisdom is in use.
  double default_ratio() const;
  double bound_share() const { return bound_s / ours().seconds.centre; }
};

}  // namespace tilewright::bench
