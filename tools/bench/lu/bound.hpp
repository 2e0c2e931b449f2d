// What a factorization on CPU and GPUs cannot be faster than: its operations at the speed of all their
// products together, timed here and now.
#pragma once

#include "bench/case.hpp"
#include "tilewright/context.hpp"
#include "tune/calibrate/machine.hpp"

namespace tilewright::bench {

// In operations of the element type by second, the best of a few products each. Null: without GPUs.
double product_speed(Context& context, CalibrationMachine* gpus, const Case& c);

}  // namespace tilewright::bench
