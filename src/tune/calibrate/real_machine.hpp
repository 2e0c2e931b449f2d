// This machine, as calibration times it: its CPU through the public interface, with the library that large
// products go to, and its GPUs where the build has them.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "tilewright/context.hpp"
#include "tune/calibrate/machine.hpp"

namespace tilewright {

// `gpus` are the numbers of those to take part; nothing: all that can. `context` multiplies, and must live as
// long. Throws Error(unsupported) or Error(invalid_argument) for a GPU that was named and cannot.
std::unique_ptr<CalibrationMachine> open_machine(Context& context,
                                                 const std::optional<std::vector<int>>& gpus);

}  // namespace tilewright
