// Converts a profiler's counters of single launches of tilewright and of a vendor's library to the figures by
// which Masliah 2016 explains speed (Figs. 6a and 7): instruction mix, occupancy, efficiency of memory,
// stalls. The library may run several kernels for one launch, and their names are unknown.
#pragma once

#include "analyze/counters.hpp"

namespace tilewright {

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
