// The pipelined executor: one product of operands in host memory as a Split says. Each GPU gets the operand
// that all of its tiles need once, in slices of k that the first tile is computed by as they arrive; tiles of
// the other operand and of C follow, each copied in, multiplied and copied out while its neighbours do the
// same. The CPU computes its part meanwhile. It chooses nothing, and knows devices only as StreamDevice.
#pragma once

#include <functional>
#include <vector>

#include "gemm/hybrid/split.hpp"
#include "gemm/hybrid/stream_device.hpp"

namespace tilewright {

struct StreamJob {
  GemmProblem problem;  // single, in host memory
  Operands operands;    // of which the addresses are the host's
  const Split& split;
  std::vector<StreamDevice*> devices;  // by position in the model's list
  // Multiplies a part on the host's CPU, of the given problem and addresses, by as many threads as are left.
  std::function<void(const GemmProblem&, const Operands&)> multiply_on_host;
  // After a device is lost or out of memory: whether the host computes what it has not brought back, else the
  // call throws and says which columns (or rows) of C are undefined.
  bool redo_on_host = false;
};

struct StreamReport {
  double seconds = 0, host_s = 0;     // from beginning to end; of the CPU's part
  std::vector<double> gpu_s;          // of each share of the split
  std::int64_t redone = 0;            // columns (or rows) that the host computed for a device that failed
  std::vector<std::string> failures;  // of devices, in words
};

// Returns when C is complete. beta = 0 never reads C, not even to upload it; alpha = 0 and k = 0 are not its
// problems. Throws Error(out_of_memory) and Error(device_lost) as above; never leaves C half written without
// saying so.
StreamReport stream_gemm(const StreamJob& job);

}  // namespace tilewright
