// The GPUs that products of host operands may use, as the hybrid target sees them: which there are, how one
// is opened, and how a product of a tile is made ready. Those of the machine stand in machine_gpus.cpp;
// tests put simulated ones in their place.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gemm/hybrid/stream/products.hpp"
#include "gemm/hybrid/stream/stream_device.hpp"
#include "tilewright/context.hpp"
#include "wisdom/node_model.hpp"

namespace tilewright {

class GpuMachines;  // gemm/device/machine.hpp

struct HybridGpu {
  int ordinal = 0;  // as options name it
  std::string name;
  std::int64_t memory_bytes = 0;
};

// Multiplies on the device that it was given to, queued on operands.stream.
using DeviceMultiply = std::function<void(const GemmProblem&, const Operands&)>;

class HybridGpus {
 public:
  virtual ~HybridGpus() = default;
  // Asks without setting anything up on a device; says why where there are none.
  virtual std::vector<HybridGpu> list(std::string& why_none) = 0;
  // Of one whose model is what it is, and not fitted: by position in the list.
  virtual std::optional<GpuModel> model(int /*position*/) const { return std::nullopt; }
  virtual std::unique_ptr<StreamDevice> open(int ordinal, DeviceMultiply multiply) = 0;
  // Chooses and, where it may, compiles what the product runs with. Throws Error(unsupported) where nothing
  // does.
  virtual DeviceProduct prepare(Context::Impl& context, const StreamProduct& what, int ordinal,
                                bool may_compile) = 0;
};

// Those of this machine; a build without GPU sources has none, and says so.
std::unique_ptr<HybridGpus> machine_gpus();

}  // namespace tilewright
