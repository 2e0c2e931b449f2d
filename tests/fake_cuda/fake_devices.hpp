// The devices that the fake driver has: one that every kernel is made for, an older one, and one that is too
// old. Only what the project asks of a device is told.
#pragma once

#include <cuda.h>

namespace tilewright::fake_cuda {

struct Device {
  const char* name;
  int capability, multiprocessors, shared_per_block;
};
constexpr Device devices[] = {
    {"NVIDIA H200", 90, 132, 232448}, {"Fake Turing", 75, 40, 65536}, {"Fake Pascal", 61, 20, 49152}};
constexpr int device_count = 3;

inline int attribute_of(const Device& d, CUdevice_attribute which) {
  switch (which) {
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
      return d.capability / 10;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
      return d.capability % 10;
    case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
      return d.multiprocessors;
    case CU_DEVICE_ATTRIBUTE_CLOCK_RATE:
      return 1500000;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN:
      return d.shared_per_block;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR:
      return d.shared_per_block + 1024;
    case CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK:
      return 1024;
    case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
      return 1024;
    case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR:
      return 2048;
    case CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR:
      return 65536;
    case CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE:
      return 60 << 20;
    default:
      return 1;
  }
}

}  // namespace tilewright::fake_cuda
