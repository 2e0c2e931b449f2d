// A GPU's energy, power, clocks and temperature through NVML. A missing reading is absent, never 0.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "device/energy_meter.hpp"

namespace tilewright {

struct GpuReadings {
  std::optional<double> energy_j;  // since the driver was loaded; about ten updates per second
  std::optional<double> power_w;
  std::optional<int> clock_mhz;  // of the multiprocessors
  std::optional<int> memory_clock_mhz;
  std::optional<int> temperature_c;
};

// Other users of the device, and the reasons that hold its clocks down.
struct GpuUse {
  std::optional<int> utilisation;              // percent of the last second or less in which kernels ran
  std::optional<int> other_processes;          // other processes that compute on it
  std::optional<std::uint64_t> clock_reasons;  // why clocks are not the highest, as NVML's bits
  std::optional<double> power_limit_w;
};

class Nvml {
 public:
  // `uuid` as in GpuLimits. Throws Error(unsupported) with the reason if NVML or the device is missing.
  explicit Nvml(const std::string& uuid);
  ~Nvml();
  Nvml& operator=(Nvml&&) = delete;

  GpuReadings read() const;
  // Reads the energy alone, in a fifth of the time, which may still be milliseconds.
  std::optional<double> energy_j() const;
  GpuUse use() const;
  const std::string& driver_version() const { return driver_version_; }

 private:
  void* library_ = nullptr;
  void* device_ = nullptr;
  std::string driver_version_;
};

// Adds the meter of that GPU, or the reason why it has none.
void add_gpu_meter(EnergyMeters& meters, const std::string& uuid);

}  // namespace tilewright
