// Calls NVML's functions by their published signatures; its header is not in every toolkit.
#include "device/gpu/nvml.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

#include "core/input/failure.hpp"
#include "device/loaded_function.hpp"
#include "tilewright/types.hpp"

namespace tilewright {
namespace {

// Returns a reading through `name(device, arguments..., &value)`, if function and value exist.
template <class V, class... Arguments>
std::optional<V> reading(void* library, void* device, const char* name, Arguments... arguments) {
  int (*const function)(void*, Arguments..., V*) = LoadedFunction(library, name);
  V value{};
  if (function == nullptr || function(device, arguments..., &value) != 0) return std::nullopt;
  return value;
}

// Layout of nvmlProcessInfo_t, version 3.
struct ProcessInfo {
  unsigned pid;
  unsigned long long used_memory;
  unsigned gpu_instance, compute_instance;
};

// Counts the other processes with a context. If no number is this process's (containers), one entry is.
std::optional<int> count_others(void* library, void* device) {
  int (*const running)(void*, unsigned*, ProcessInfo*) =
      LoadedFunction(library, "nvmlDeviceGetComputeRunningProcesses_v3");
  std::vector<ProcessInfo> list(64);
  auto count = unsigned(list.size());
  if (running == nullptr || running(device, &count, list.data()) != 0) return std::nullopt;
  const auto own = std::count_if(list.begin(), list.begin() + count,
                                 [](const ProcessInfo& one) { return one.pid == unsigned(getpid()); });
  return std::max(0, int(count - std::max<unsigned>(1, unsigned(own))));
}

class GpuEnergy : public EnergyMeter {
 public:
  explicit GpuEnergy(const std::string& uuid) : uuid_(uuid), nvml_(uuid) {}

  std::string name() const override { return "nvml"; }
  EnergyCoverage covers() const override { return {Location::device, uuid_, 0}; }
  double shortest_s() const override { return 1; }  // ten updates of the counter
  double joules() override {
    if (const auto now = nvml_.energy_j()) return *now;
    throw Error(ErrorCode::io, "energy", fmt::format("NVML gives no energy of the device {}", uuid_));
  }

 private:
  std::string uuid_;
  Nvml nvml_;
};

}  // namespace

Nvml::Nvml(const std::string& uuid) {
  library_ = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library_ == nullptr)
    throw Error(ErrorCode::unsupported, "nvml", fmt::format("NVML was not found ({})", loader_error()));
  int (*const initialise)() = LoadedFunction(library_, "nvmlInit_v2");
  int (*const by_uuid)(const char*, void**) = LoadedFunction(library_, "nvmlDeviceGetHandleByUUID");
  if (initialise == nullptr || by_uuid == nullptr || initialise() != 0)
    throw Error(ErrorCode::unsupported, "nvml", "NVML cannot be initialised");
  if (by_uuid(uuid.c_str(), &device_) != 0)
    throw Error(ErrorCode::unsupported, "nvml", fmt::format("NVML does not know the device {}", uuid));
  char version[96] = {};
  int (*const driver)(char*, unsigned) = LoadedFunction(library_, "nvmlSystemGetDriverVersion");
  if (driver != nullptr && driver(version, sizeof(version)) == 0) driver_version_ = version;
}

Nvml::~Nvml() {
  if (int (*const shut_down)() = LoadedFunction(library_, "nvmlShutdown")) shut_down();
}

std::optional<double> Nvml::energy_j() const {
  const auto mj = reading<unsigned long long>(library_, device_, "nvmlDeviceGetTotalEnergyConsumption");
  if (!mj) return std::nullopt;
  return double(*mj) * 1e-3;
}

GpuReadings Nvml::read() const {
  GpuReadings readings;
  readings.energy_j = energy_j();
  if (const auto mw = reading<unsigned>(library_, device_, "nvmlDeviceGetPowerUsage"))
    readings.power_w = *mw * 1e-3;
  // Clock kinds: 1 multiprocessors, 2 memory. Temperature sensor 0: the chip.
  readings.clock_mhz = reading<unsigned>(library_, device_, "nvmlDeviceGetClockInfo", 1);
  readings.memory_clock_mhz = reading<unsigned>(library_, device_, "nvmlDeviceGetClockInfo", 2);
  readings.temperature_c = reading<unsigned>(library_, device_, "nvmlDeviceGetTemperature", 0);
  return readings;
}

GpuUse Nvml::use() const {
  struct Rates {
    unsigned gpu, memory;
  };
  GpuUse use;
  if (const auto rates = reading<Rates>(library_, device_, "nvmlDeviceGetUtilizationRates"))
    use.utilisation = int(rates->gpu);
  use.other_processes = count_others(library_, device_);
  use.clock_reasons =
      reading<unsigned long long>(library_, device_, "nvmlDeviceGetCurrentClocksEventReasons");
  if (const auto mw = reading<unsigned>(library_, device_, "nvmlDeviceGetEnforcedPowerLimit"))
    use.power_limit_w = *mw * 1e-3;
  return use;
}

void add_gpu_meter(EnergyMeters& meters, const std::string& uuid) {
  try {
    auto meter = std::make_unique<GpuEnergy>(uuid);
    (void)meter->joules();
    meters.meters.push_back(std::move(meter));
  } catch (const Error& error) {
    meters.declined.push_back(fmt::format("nvml: {}", error.what()));
  }
}

}  // namespace tilewright
