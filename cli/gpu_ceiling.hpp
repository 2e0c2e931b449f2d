// What the device's memory gives to one mix of reads and writes: every streaming loop takes a turn with those
// of a case, over whole operands, and the best of them is the ceiling.
#pragma once

#include <nlohmann/json.hpp>

#include "gpu_bench_machine.hpp"

namespace tilewright::cli {

class GpuCeiling {
 public:
  GpuCeiling(GpuBenchMachine::Impl& machine, const GpuStreamMix& mix) : m_(machine), mix_(mix) {}

  // One pass of each loop.
  void turn();

  struct Best {
    std::string loop;
    double gbytes = 0;  // per second
  };
  // After some turns.
  Best best() const;
  nlohmann::json rates() const;  // GB/s by the name of the loop

 private:
  GpuBenchMachine::Impl& m_;
  GpuStreamMix mix_;
  std::vector<std::vector<double>> samples_;
};

}  // namespace tilewright::cli
