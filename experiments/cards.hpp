// Limits of the cards whose recorded rows are analysed, for machines without these cards.
#pragma once

#include "device/gpu/gpu.hpp"

namespace tilewright::bench {

// Returns the limits that drivers report for the two cards with recorded rows, an H100 and an H200.
inline GpuLimits limits_of_card(const std::string& device) {
  GpuLimits limits;
  limits.name = device;
  limits.compute_capability = 90;
  limits.multiprocessors = 132;
  limits.clock_khz = 1980000;
  limits.shared_bytes_per_block = 232448;
  limits.shared_bytes_reserved = 1024;
  limits.shared_bytes_per_multiprocessor = limits.shared_bytes_per_block + limits.shared_bytes_reserved;
  limits.threads_per_block = 1024;
  limits.threads_per_multiprocessor = 2048;
  limits.registers_per_multiprocessor = 65536;
  const bool h200 = device.find("H200") != std::string::npos;
  limits.l2_bytes = std::int64_t{h200 ? 60 : 50} << 20;
  limits.memory_bytes_per_s = h200 ? 4.91e12 : 3.352e12;
  return limits;
}

}  // namespace tilewright::bench
