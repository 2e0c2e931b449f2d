// Joules of a launch under a load without pauses, between two moves of a counter that moves a few times a
// second: the work done at such a move is known to one short batch of launches.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "device/gpu.hpp"

namespace tilewright {

struct GpuEnergyWindow {
  double seconds = 0, joules = 0, launches = 0;
  std::string fault;  // why there is no reading; "" when there is
};

// At least `seconds` of launches on the stream, after a while of heating up. `launch` queues one, which takes
// about `launch_s`; `joules` reads the counter, empty where it does not answer.
GpuEnergyWindow gpu_energy_window(const Gpu& gpu, const GpuStream& stream,
                                  const std::function<std::optional<double>()>& joules,
                                  const std::function<void()>& launch, double launch_s, double seconds);

}  // namespace tilewright
