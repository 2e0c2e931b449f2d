// The measurements of one case: every implementation's best variant, and the bound from the ceilings of the
// same minutes. report.hpp prints them.
#pragma once

#include "bench/case.hpp"
#include "bench/contender.hpp"
#include "core/json.hpp"

namespace tilewright::bench {

// Returns the ratio of theirs over ours within rounds that both have; absent if these are fewer than `least`.
std::optional<Estimate> paired_ratio(const std::vector<double>& theirs, const std::vector<double>& ours,
                                     std::size_t least);

struct CaseResult {
  Case bench_case;
  std::vector<Contender> impls;  // tilewright first
  std::vector<Absence> absences;
  double work_flops = 0;  // operations that `seconds` is the time of
  double bound_s = 0;
  std::string bound_kind;    // memory or compute
  double ceiling = 0;        // GB/s or GFLOP/s
  std::string ceiling_loop;  // the loop that reached it
  double memory_gbytes = 0;  // 0 if not measured
  double compute_gflops = 0;
  // 0 unless interleaved in l2: the larger of 4/3 of the compute time and L2 streaming.
  double interleaved_bound_s = 0;
  std::vector<std::string> notes;  // possible disturbances of the case
  // Keys in addition to those of every family; provenance here describes the GPU.
  nlohmann::json metrics = nlohmann::json::object(), provenance = nlohmann::json::object();

  const Contender& ours() const { return impls.front(); }
  // Returns the fastest of a role; null without any.
  const Contender* best(Role role) const;
  // Returns the time of best(role) over tilewright's: on a GPU the median of the ratios within rounds,
  // otherwise the ratio of medians; 0 without any.
  double ratio(Role role) const;
  // Returns the former with its interval; absent if it is not taken.
  std::optional<Estimate> paired_ratio(Role role) const;
  // Returns tilewright's work per joule over that of best(role), paired by windows; absent with fewer than
  // two windows.
  std::optional<Estimate> paired_efficiency(Role role) const;
  // Returns tilewright's error over that of best(role); absent without any.
  std::optional<double> error_ratio(Role role) const;
  // Returns tilewright without wisdom; null if it was not timed.
  const Contender* without_wisdom() const;
  // Returns the time without wisdom over the time with it: 1 if wisdom agrees with the rule of thumb, 0 if no
  // wisdom is in use.
  double default_ratio() const;
  double bound_share() const { return bound_s / ours().seconds.centre; }
};

}  // namespace tilewright::bench
