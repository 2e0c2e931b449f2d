// What the pipelined executor is given and what it tells.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "gemm/hybrid/split/schedule.hpp"

namespace tilewright {

class Workers;

struct StreamJob {
  GemmProblem problem;  // in host memory: a single product or a batch
  Operands operands;    // of which the addresses are the host's
  const Split& split;
  std::vector<StreamDevice*> devices;            // by position in the model's list
  const std::vector<StreamSchedule>& schedules;  // of the split on these devices
  ForMatrices pinned{};                          // all of what the call touches of each operand
  // Multiplies a part on the host's CPU, of the given problem and addresses, by as many threads as are left.
  std::function<void(const GemmProblem&, const Operands&)> multiply_on_host = {};
  // After a device is lost or out of memory: whether the host computes what it has not brought back, else the
  // call throws and says which columns (or rows) of C are undefined.
  bool redo_on_host = false;
  // Threads that fill and empty rings, kept by the caller for many calls; null: as many as the split says,
  // started and ended with the call.
  Workers* copiers = nullptr;
  // Those that queue the shares, likewise; null: started and ended with the call.
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

}  // namespace tilewright
