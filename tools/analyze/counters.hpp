// Counters of a profiler beside the points of a sweep: Nsight Compute's raw page as CSV, joined by the order
// in which the sweep's program launched its sample, and by nothing that a profiler may rename. Grids and
// blocks of both must agree.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "analyze/data.hpp"
#include "core/json.hpp"

namespace tilewright {

// A kernel as the profiler lists it.
struct ProfiledLaunch {
  std::string name;
  long long blocks = 0, threads = 0;
  std::map<std::string, double> counters;
};
// What `ncu --csv --page raw` prints. Throws Error(io) naming the file where it is something else.
std::vector<ProfiledLaunch> read_profile(const std::string& path);

struct OrderedLaunch {
  nlohmann::json config;  // null for a vendor's library, whose grids nobody knows
  long long blocks = 0, threads = 0;
  std::string impl = "tilewright";
  nlohmann::json line;        // as it was written
  std::string problem, uuid;  // "" where the file does not say what was launched, or on which card
};
// What `bench_gemm_large_sweep sample` and `bench_gemm_small --once 1` write.
std::vector<OrderedLaunch> read_launch_order(const std::string& path);
// The first line of such a file: its command and device.
nlohmann::json read_order_head(const std::string& path);

// Adds "counters.<name>" to the metrics of the points that were launched, which are those of the launches'
// problem; how many those are. Counters of a card that measured only other problems of the sweep are noted in
// the case. Throws Error(invalid_argument) where the two lists cannot be of the same run, for launches that
// name no problem, and for those of a card that measured nothing of the sweep or is of another kind.
std::size_t join_counters(std::vector<SweepCase>& cases, const std::vector<ProfiledLaunch>& profile,
                          const std::vector<OrderedLaunch>& order);

}  // namespace tilewright
