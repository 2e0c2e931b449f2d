// The upper bound of the speed of a factorization on CPU and GPUs: the speed of all their products together,
// timed at this moment.
#pragma once

#include "bench/case.hpp"
#include "tilewright/context.hpp"
#include "tune/calibrate/machine.hpp"

namespace tilewright::bench {

// Operations of the element type per second, the best of a few products each. `gpus` is null without GPUs.
double product_speed(Context& context, CalibrationMachine* gpus, const Case& c);

}  // namespace tilewright::bench
