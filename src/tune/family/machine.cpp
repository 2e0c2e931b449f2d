// Opens what is asked for, once.
#include "tune/family/machine.hpp"

#include "device/cpu.hpp"

#if TILEWRIGHT_HAS_GPU
#include "device/gpu/nvml.hpp"
#include "tune/gpu/machine.hpp"
#endif

namespace tilewright {

TuneMachine::TuneMachine(Isa isa, int device, std::size_t operand_bytes)
    : isa_(isa), device_(device), operand_bytes_(operand_bytes) {}
TuneMachine::~TuneMachine() = default;

#if TILEWRIGHT_HAS_GPU

TuneGpu& TuneMachine::gpu() {
  if (gpu_ == nullptr) gpu_ = std::make_shared<TuneGpu>(device_, operand_bytes_);
  return *gpu_;
}

std::string TuneMachine::device_name(Location location) {
  return location == Location::host ? cpu_info().device : gpu().gpu().limits().name;
}

EnergyMeter& TuneMachine::meter(const TuneObjective& objective, Location location) {
  if (meters_ == nullptr) meters_ = std::make_unique<EnergyMeters>(find_energy_meters());
  if (location == Location::host) return meters_->required(objective.text(), location);
  const std::string& uuid = gpu().gpu().limits().uuid;
  if (!std::exchange(has_gpu_meter_, true)) add_gpu_meter(*meters_, uuid);
  return meters_->required(objective.text(), location, uuid);
}

#else

TuneGpu& TuneMachine::gpu() {
  throw Error(ErrorCode::unsupported, "location", "location = device: this build has no GPU runtime");
}

std::string TuneMachine::device_name(Location) { return cpu_info().device; }

EnergyMeter& TuneMachine::meter(const TuneObjective& objective, Location location) {
  if (meters_ == nullptr) meters_ = std::make_unique<EnergyMeters>(find_energy_meters());
  return meters_->required(objective.text(), location);
}

#endif

}  // namespace tilewright
