// Keeps the extremes and the mean of NVML's readings.
#include "measure/gpu/observer.hpp"

#include <algorithm>

#include "tilewright/types.hpp"

namespace tilewright {

GpuObserver::GpuObserver(const std::string& uuid) {
  try {
    nvml_ = std::make_unique<Nvml>(uuid);
  } catch (const Error& error) {
    note_ = error.what();
  }
}

void GpuObserver::before() {
  clock_mhz_ = temperature_c_ = {};
  look();
}

void GpuObserver::look() {
  if (nvml_ == nullptr) return;
  const GpuReadings readings = nvml_->read();
  clock_mhz_.take(readings.clock_mhz);
  temperature_c_.take(readings.temperature_c);
}

void GpuObserver::report(nlohmann::json& metrics) const {
  clock_mhz_.report(metrics, "clock_mhz", note_);
  temperature_c_.report(metrics, "temperature_c", note_);
}

void GpuObserver::Range::take(const std::optional<int>& value) {
  if (!value) return;
  low = std::min(low.value_or(*value), *value);
  high = std::max(high.value_or(*value), *value);
  sum += *value;
  ++count;
}

void GpuObserver::Range::report(nlohmann::json& metrics, const std::string& key,
                                const std::string& note) const {
  metrics[key] = count > 0 ? nlohmann::json(sum / count) : nlohmann::json();
  metrics[key + "_low"] = low ? nlohmann::json(*low) : nlohmann::json();
  metrics[key + "_high"] = high ? nlohmann::json(*high) : nlohmann::json();
  if (!low) metrics[key + "_note"] = note;
}

}  // namespace tilewright
