// The pipelined executor: one product or batch of operands in host memory as a Split says. Each GPU gets the
// operand that all of its tiles need once, in slices of k that the first tile is computed by as they arrive;
// tiles of the other operand and of C follow, or pieces of a batch, each copied in, multiplied and copied out
// while its neighbours do the same. The CPU computes its part meanwhile. It chooses nothing, and knows
// devices only as StreamDevice.
#pragma once

#include "gemm/hybrid/stream/stream_job.hpp"

namespace tilewright {

// The steps of a split's shares on these devices, by position, whatever operands they are run with.
std::vector<StreamSchedule> schedules_on(const std::vector<StreamDevice*>& devices,
                                         const GemmProblem& problem, Split split);

// Returns when C is complete. beta = 0 never reads C, not even to upload it; alpha = 0 and k = 0 are not its
// problems. Throws Error(out_of_memory) and Error(device_lost) as above; never leaves C half written without
// saying so.
StreamReport stream_gemm(const StreamJob& job);

}  // namespace tilewright
