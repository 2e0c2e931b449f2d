// Keeps the extremes and the mean of NVML's readings.
#include "measure/gpu/observer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "tilewright/types.hpp"

namespace tilewright {
namespace {

constexpr int busy_percent = 5;  // other processes use the GPU if none of this process's kernels has run
constexpr int use_samples = 5;

std::vector<std::string> notes_of_others(int processes) {
  if (processes == 0) return {};
  return {fmt::format("{} other processes compute on the card", processes)};
}

std::vector<std::string> notes_before(const Nvml& nvml) {
  int busy = 0, others = 0;
  for (int sample = 0; sample < use_samples; ++sample) {
    const GpuUse use = nvml.use();
    busy = std::max(busy, use.utilisation.value_or(0));
    others = std::max(others, use.other_processes.value_or(0));
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  std::vector<std::string> notes = notes_of_others(others);
  if (busy > busy_percent) notes.push_back(fmt::format("the card was {} % busy before the run began", busy));
  return notes;
}

}  // namespace

GpuObserver::GpuObserver(const std::string& uuid) {
  try {
    nvml_ = std::make_unique<Nvml>(uuid);
  } catch (const Error& error) {
    note_ = error.what();
  }
}

void GpuObserver::before() {
  clock_mhz_ = temperature_c_ = {};
  read();
}

void GpuObserver::read() {
  if (nvml_ == nullptr) return;
  const GpuReadings readings = nvml_->read();
  if (readings.clock_mhz) clock_mhz_.take(*readings.clock_mhz);
  if (readings.temperature_c) temperature_c_.take(*readings.temperature_c);
}

void GpuObserver::report(nlohmann::json& metrics) const {
  const auto report_range = [&](const char* key, const ObservedRange<int>& range) {
    metrics[key] = range.count > 0 ? nlohmann::json(range.sum / range.count) : nlohmann::json();
    range.report(metrics, key, note_);
  };
  report_range("clock_mhz", clock_mhz_);
  report_range("temperature_c", temperature_c_);
}

std::vector<std::string> notes_during(const Nvml& nvml) {
  return notes_of_others(nvml.use().other_processes.value_or(0));
}

OtherUsersNotes::OtherUsersNotes(const std::string& uuid) {
  try {
    nvml_.emplace(uuid);
    before_ = notes_before(*nvml_);
  } catch (const Error& error) {
    absence_ = error.what();
  }
}

std::vector<std::string> OtherUsersNotes::notes() const {
  std::vector<std::string> all = before_;
  if (!nvml_) return all;
  for (std::string& note : notes_during(*nvml_))
    if (std::find(all.begin(), all.end(), note) == all.end()) all.push_back(std::move(note));
  return all;
}

}  // namespace tilewright
