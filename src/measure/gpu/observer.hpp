// Readings of a measured GPU from NVML: the clock of its multiprocessors, its temperature, and other users of
// it, whose presence is noted in rows of results.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "device/gpu/nvml.hpp"
#include "measure/observer.hpp"

namespace tilewright {

// Reports `clock_mhz` (the mean of the readings), `clock_mhz_low`, `clock_mhz_high` and the same of
// `temperature_c`; null, with a note, if they are not reported. before() begins a new observation.
class GpuObserver : public Observer {
 public:
  explicit GpuObserver(const std::string& uuid);
  void before() override;
  void during() override { read(); }
  void after() override { read(); }
  void report(nlohmann::json& metrics) const override;

 private:
  void read();

  std::unique_ptr<Nvml> nvml_;
  std::string note_ = "the GPU does not report it";
  ObservedRange<int> clock_mhz_, temperature_c_;
};

// Returns a note if other processes compute on the card.
std::vector<std::string> notes_during(const Nvml& nvml);

// Collects notes for one run, each note once: a card on which kernels ran in the half second before it, and
// other processes that compute on the card. None if NVML is not available.
class OtherUsersNotes {
 public:
  // Construct before this process runs kernels on the device; `uuid` as in GpuLimits. Takes half a second.
  explicit OtherUsersNotes(const std::string& uuid);
  // Returns the notes from the construction and from now.
  std::vector<std::string> notes() const;
  const Nvml* nvml() const { return nvml_ ? &*nvml_ : nullptr; }
  // Returns why NVML is not available.
  const std::string& absence() const { return absence_; }

 private:
  std::optional<Nvml> nvml_;
  std::string absence_;
  std::vector<std::string> before_;
};

}  // namespace tilewright
