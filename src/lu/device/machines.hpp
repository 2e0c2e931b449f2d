// What a Context keeps for LU on GPUs: the tools of each GPU that was used.
#pragma once

#include <map>
#include <memory>
#include <mutex>

#include "gemm/context_impl.hpp"
#include "gemm/device/machine.hpp"
#include "lu/device/tools.hpp"

namespace tilewright {

class LuMachines {
 public:
  static LuMachines& of(Context::Impl& context);

  explicit LuMachines(std::shared_ptr<GpuMachines> gpus) : gpus_(std::move(gpus)) {}
  // Throws what GpuMachines::open() throws, and Error(unsupported) without cuBLAS or on a GPU that is too
  // old.
  std::shared_ptr<LuTools> tools(int ordinal);

 private:
  // In the order in which they are needed: the tools go first.
  struct Kept {
    std::shared_ptr<const GpuMachine> machine;
    std::shared_ptr<LuTools> tools;
  };
  std::shared_ptr<GpuMachines> gpus_;
  LongMutex mutex_;
  std::map<int, std::shared_ptr<Kept>> kept_;
};

}  // namespace tilewright
