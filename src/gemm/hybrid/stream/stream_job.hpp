// The pipelined executor: computes one product or batch of operands in host memory as a Split says. Each GPU
// gets the operand that all of its tiles need once, in slices of k that the first tile is computed by as they
// arrive; tiles of the other operand and of C follow, or pieces of a batch, each copied in, multiplied and
// copied out while its neighbours do the same. The CPU computes its part meanwhile.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "gemm/hybrid/split/schedule.hpp"

namespace tilewright {

class Workers;

struct StreamJob {
  GemmProblem problem;  // in host memory: a single product or a batch
  Operands operands;    // at the host's addresses
  const Split& split;
  std::vector<StreamDevice*> devices;            // by position in the model's list
  const std::vector<StreamSchedule>& schedules;  // of the split on these devices
  ForMatrices pinned{};                          // all that the call touches of each operand
  // Multiplies a part on the host's CPU, of the given problem and addresses, by as many threads as are left.
  std::function<void(const GemmProblem&, const Operands&)> multiply_on_host = {};
  // After a device is lost or out of memory the host computes all that it has not brought back; else the call
  // throws and names the columns (or rows) of C that are undefined.
  bool redo_on_host = false;
  // Threads that serve rings, kept by the caller; null: as many as the split says, for this call.
  Workers* copiers = nullptr;
  // The threads that queue the shares; null: started and ended with the call.
  Workers* threads = nullptr;
  // As multiply_on_host, problems first to first + count - 1 of a batch.
  std::function<void(std::int64_t first, std::int64_t count)> multiply_range_on_host = {};
};

struct StreamReport {
  double seconds = 0, host_s = 0;  // from beginning to end; of the CPU's part
  std::vector<double> gpu_s;       // of each share of the split
  std::int64_t redone = 0;         // columns (rows, problems) that the host computed for a device that failed
  std::vector<std::string> failures;  // of devices, in words
};

// The steps of a split's shares on these devices, by position, whatever operands they are run with.
std::vector<StreamSchedule> schedules_on(const std::vector<StreamDevice*>& devices,
                                         const GemmProblem& problem, Split split);

// Returns when C is complete. beta = 0 never reads C, not even to upload it; alpha = 0 and k = 0 are left to
// the caller. Throws Error(out_of_memory) and Error(device_lost), which name any part of C that is undefined.
StreamReport stream_gemm(const StreamJob& job);

}  // namespace tilewright
