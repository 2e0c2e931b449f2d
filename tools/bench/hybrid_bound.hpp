// The lower bound of the time of a product of host operands on GPUs: the longer of moving its bytes over the
// links and multiplying on the GPUs, both timed at this moment by calibration's experiments.
#pragma once

#include <optional>
#include <vector>

#include "tune/calibrate/machine.hpp"

namespace tilewright::bench {

struct HybridBound {
  double transfer_s = 0;  // in the busier direction, with the links concurrent
  double compute_s = 0;   // for all GPUs together
  double seconds() const { return transfer_s > compute_s ? transfer_s : compute_s; }
};

// Measures a batch by the transfers alone. Uses the first `gpus` GPUs of the machine and pinned memory. A
// panel of full depth stands for products that exceed a GPU's memory.
HybridBound measure_hybrid_bound(CalibrationMachine& machine, const GemmProblem& problem, int gpus);

// Returns the best of a few times.
double best_seconds(CalibrationMachine& machine, const Experiment& experiment);

}  // namespace tilewright::bench
