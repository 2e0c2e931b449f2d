// Opens GPU and meters on first use.
#include "tune/family/machine.hpp"

#include "device/cpu.hpp"

#if TILEWRIGHT_HAS_GPU
#include "device/gpu/nvml.hpp"
#include "tune/gpu/pool.hpp"
#endif

namespace tilewright {

TuneMachine::TuneMachine(Isa isa, int device, std::size_t operand_bytes)
    : isa_(isa), device_(device), operand_bytes_(operand_bytes) {}
TuneMachine::~TuneMachine() = default;

TuneGpu& TuneMachine::gpu() {
#if TILEWRIGHT_HAS_GPU
  if (gpu_ == nullptr) gpu_ = std::make_shared<TuneGpu>(device_, operand_bytes_);
  return *gpu_;
#else
  throw Error(ErrorCode::unsupported, "location", "location = device: this build has no GPU runtime");
#endif
}

std::string TuneMachine::device_name([[maybe_unused]] Location location) {
#if TILEWRIGHT_HAS_GPU
  if (location == Location::device) return gpu().gpu().limits().name;
#endif
  return cpu_info().device;
}

EnergyMeter& TuneMachine::meter(const TuneObjective& objective, Location location) {
  if (meters_ == nullptr) meters_ = std::make_unique<EnergyMeters>(find_energy_meters());
  std::string uuid;
#if TILEWRIGHT_HAS_GPU
  if (location == Location::device) {
    uuid = gpu().gpu().limits().uuid;
    if (!std::exchange(has_gpu_meter_, true)) add_gpu_meter(*meters_, uuid);
  }
#endif
  return meters_->required(objective.text(), location, uuid);
}

}  // namespace tilewright
