// An observer of one GPU: the clock of its multiprocessors and its temperature, as NVML reports them. The
// energy meter measures joules.
#pragma once

#include <memory>

#include "device/gpu/nvml.hpp"
#include "measure/observer.hpp"

namespace tilewright {

// Reports `clock_mhz` (the mean of the readings), `clock_mhz_low`, `clock_mhz_high` and the same of
// `temperature_c`; null, with a note, if the device or its driver does not report them. before() begins a new
// observation.
class GpuObserver : public Observer {
 public:
  explicit GpuObserver(const std::string& uuid);
  void before() override;
  void during() override { look(); }
  void after() override { look(); }
  void report(nlohmann::json& metrics) const override;

 private:
  struct Range {
    std::optional<int> low, high;
    double sum = 0;
    int count = 0;
    void take(const std::optional<int>& value);
    void report(nlohmann::json& metrics, const std::string& key, const std::string& note) const;
  };
  void look();

  std::unique_ptr<Nvml> nvml_;
  std::string note_ = "the GPU does not tell";
  Range clock_mhz_, temperature_c_;
};

}  // namespace tilewright
