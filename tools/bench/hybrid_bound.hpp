// What a product of host operands on GPUs cannot be faster than: the longer of moving its bytes over the
// links and multiplying on the GPUs, both timed here and now by calibration's experiments.
#pragma once

#include <optional>
#include <vector>

#include "tune/calibrate/machine.hpp"

namespace tilewright::bench {

struct HybridBound {
  double transfer_s = 0;  // of the busier direction, links side by side
  double compute_s = 0;   // of all GPUs together
  double seconds() const { return transfer_s > compute_s ? transfer_s : compute_s; }
};

// Of a batch the transfers alone. With the first `gpus` GPUs of the machine, from pinned memory. A panel of
// the whole depth stands for products that a GPU's memory does not hold.
HybridBound measure_hybrid_bound(CalibrationMachine& machine, const GemmProblem& problem, int gpus);

// Of a few.
double best_seconds(CalibrationMachine& machine, const Experiment& experiment);

}  // namespace tilewright::bench
