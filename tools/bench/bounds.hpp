// Bounds of what CPU and GPUs do together, timed at this moment by calibration's experiments: the time of a
// product of host operands (the longer of moving its bytes over the links and multiplying on the GPUs), and
// the speed of a factorization.
#pragma once

#include <algorithm>
#include <optional>
#include <vector>

#include "bench/case.hpp"
#include "tilewright/context.hpp"
#include "tune/calibrate/machine.hpp"

namespace tilewright::bench {

struct HybridBound {
  double transfer_s = 0;  // in the busier direction, with the links concurrent
  double compute_s = 0;   // for all GPUs together
  double copy_s = 0;      // from and to pageable memory, by all threads; 0 for pinned memory
  double seconds() const { return std::max({transfer_s, compute_s, copy_s}); }
};

// Measures a batch by the transfers alone. Uses the first `gpus` GPUs of the machine and pinned memory, which
// `copying_threads` threads fill from pageable memory and empty into it (0: nothing is copied). A panel of
// full depth stands for products that exceed a GPU's memory.
HybridBound measure_hybrid_bound(CalibrationMachine& machine, const GemmProblem& problem, int gpus,
                                 int copying_threads = 0);

// Returns the best of a few times.
double best_seconds(CalibrationMachine& machine, const Experiment& experiment);

// The upper bound of the speed of a factorization on CPU and GPUs: the speed of all their products together,
// in operations of the element type per second, the best of a few products each. `gpus` is null without GPUs.
double product_speed(Context& context, CalibrationMachine* gpus, const Case& c);

}  // namespace tilewright::bench
