// Joins counters of a profiler with the points of a sweep: Nsight Compute's raw page as CSV, joined by the
// order in which the sweep's program launched its sample, and not by names, which a profiler may change.
// Grids and blocks of both must agree. And rows of launches with figures made of their counters.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "analyze/counters.hpp"
#include "analyze/data.hpp"
#include "core/json.hpp"

namespace tilewright {

// A kernel in the profiler's list.
struct ProfiledLaunch {
  std::string name;
  long long blocks = 0, threads = 0;
  std::map<std::string, double> counters;
};
// Reads the output of `ncu --csv --page raw`. Throws Error(io) naming the file if it is something else.
std::vector<ProfiledLaunch> read_profile(const std::string& path);

struct OrderedLaunch {
  nlohmann::json config;  // null for a vendor's library, whose grids are unknown
  long long blocks = 0, threads = 0;
  std::string impl = "tilewright";
  nlohmann::json line;        // the line as written
  std::string problem, uuid;  // "" if the file names no problem or no card
};
// Reads the output of `bench_gemm_large_sweep sample` and `bench_gemm_small --once 1`.
std::vector<OrderedLaunch> read_launch_order(const std::string& path);
// Returns the first line of such a file: its command and device.
nlohmann::json read_order_head(const std::string& path);

// Adds "counters.<name>" to the metrics of the points that were launched, which belong to the launches'
// problem; returns their number. Counters of a card that measured only other problems of the sweep are noted
// in the case. Throws Error(invalid_argument) if the two lists cannot belong to the same run, for launches
// that name no problem, and for those of a card that measured nothing of the sweep or is of another kind.
std::size_t join_counters(std::vector<SweepCase>& cases, const std::vector<ProfiledLaunch>& profile,
                          const std::vector<OrderedLaunch>& order);

// Converts a profiler's counters of single launches of tilewright and of a vendor's library to the figures by
// which Masliah 2016 explains speed (Figs. 6a and 7): instruction mix, occupancy, efficiency of memory,
// stalls. The library may run several kernels for one launch, and their names are unknown.

// Returns a row for each launch: the line of the order file with "kernels", their number, and "counters", the
// figures whose counters the profile has:
//   seconds           on the device
//   integer_share     integer instructions among integer and floating-point ones, by thread
//   fma_share         fused multiply-adds among the same
//   tensor_share      instructions of tensor cores among all, by warp
//   occupancy         warps that were there over those that a multiprocessor can hold
//   load_efficiency   bytes that loads of global memory asked for over those of the sectors that they moved
//   store_efficiency  the same of stores
//   dram_gbs          traffic of the device's memory
//   bound_bytes_share bytes that must move over those that the device's memory moved
//   conflict_share    wavefronts of shared memory that bank conflicts cost, among all
//   top_stall, top_stall_share  what warps waited for most, and its share of all waiting
// Throws Error(invalid_argument) if the two lists cannot belong to the same run.
std::vector<nlohmann::json> launch_counters(const std::vector<ProfiledLaunch>& profile,
                                            const std::vector<OrderedLaunch>& order);

}  // namespace tilewright
