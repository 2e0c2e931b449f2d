// A batch on the device: arrays of addresses and sizes, and the operands of a launch. The elements belong to
// the caller.
#pragma once

#include <memory>

#include "kernel/gemm_small/loader.hpp"
#include "measure/small_batch.hpp"

namespace tilewright::bench {

template <class T>
GpuBuffer device_copy(const Gpu& gpu, const std::vector<T>& values) {
  GpuBuffer buffer(gpu, std::max<std::size_t>(1, values.size()) * sizeof(T));
  if (!values.empty()) buffer.write(values.data(), values.size() * sizeof(T));
  return buffer;
}

class DeviceArrays {
 public:
  DeviceArrays(const Gpu& gpu, const SmallBatch& batch) : gpu_(gpu), batch_(batch) {}

  template <class T>
  void set_addresses(int operand, const std::vector<const T*>& addresses) {
    if (batch_.by_pointer()) addresses_[operand] = std::make_unique<GpuBuffer>(device_copy(gpu_, addresses));
  }
  void set_sizes(int which, const std::vector<std::int64_t>& sizes) {
    sizes_[which] = std::make_unique<GpuBuffer>(device_copy(gpu_, sizes));
  }
  // Addresses from the bases of the three operands, in the order `problems`, or in their own.
  void set_all(const char* a, const char* b, char* c, const std::vector<std::int64_t>& problems = {});

  const GpuBuffer& addresses(int operand) const { return *addresses_[operand]; }
  GemmSmallOperands operands(const void* a, const void* b, void* c) const;

 private:
  const Gpu& gpu_;
  const SmallBatch& batch_;
  std::unique_ptr<GpuBuffer> addresses_[3], sizes_[6];
};

}  // namespace tilewright::bench
