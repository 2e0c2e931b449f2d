// The devices of the fake driver: one that every kernel is made for, an older one, and one that is too old.
// They have only the properties that the project reads. TILEWRIGHT_FAKE_CARD (h100, h200) gives the first one
// a real card's name, clocks and cache, so that choices for it are those for the real card.
#pragma once

#include <cuda.h>

#include <cstdlib>
#include <string_view>

namespace tilewright::fake_cuda {

struct Device {
  const char* name;
  int capability, multiprocessors, shared_per_block;
  int clock_khz = 1500000, memory_khz = 1, bus_bits = 1, l2_bytes = 60 << 20;
};
constexpr Device h200{"NVIDIA H200", 90, 132, 232448, 1980000, 3201000, 6144};
constexpr Device h100{"NVIDIA H100 80GB HBM3", 90, 132, 232448, 1980000, 2619000, 5120, 50 << 20};
inline const Device devices[] = {[] {
                                   const char* card = std::getenv("TILEWRIGHT_FAKE_CARD");
                                   if (card != nullptr && std::string_view(card) == "h100") return h100;
                                   return card != nullptr && std::string_view(card) == "h200"
                                              ? h200
                                              : Device{"NVIDIA H200", 90, 132, 232448};
                                 }(),
                                 {"Fake Turing", 75, 40, 65536},
                                 {"Fake Pascal", 61, 20, 49152}};
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
      return d.clock_khz;
    case CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE:
      return d.memory_khz;
    case CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH:
      return d.bus_bits;
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
      return d.l2_bytes;
    default:
      return 1;
  }
}

}  // namespace tilewright::fake_cuda
