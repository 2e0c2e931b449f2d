// Fictional GPUs, for decisions of the host that depend on a device's limits.
#pragma once

#include "device/gpu/gpu.hpp"

namespace tilewright {

// The limits of compute capability 7.5, 8.0 or 9.0 (CUDA C++ Programming Guide, table of technical
// specifications); the multiprocessors are the H200's unless given.
inline GpuLimits fictional_gpu(int compute_capability, int multiprocessors = 132) {
  const bool turing = compute_capability < 80;
  GpuLimits limits;
  limits.name = "fictional";
  limits.compute_capability = compute_capability;
  limits.multiprocessors = multiprocessors;
  limits.shared_bytes_per_block = turing ? 65536 : compute_capability < 90 ? 166912 : 232448;
  limits.shared_bytes_reserved = turing ? 0 : 1024;
  limits.shared_bytes_per_multiprocessor = limits.shared_bytes_per_block + limits.shared_bytes_reserved;
  limits.threads_per_block = 1024;
  limits.threads_per_multiprocessor = turing ? 1024 : 2048;
  limits.registers_per_multiprocessor = 65536;
  limits.memory_bytes_per_s = 4.8e12;
  limits.l2_bytes = std::int64_t(turing ? 4 : compute_capability < 90 ? 40 : 50) << 20;
  return limits;
}

}  // namespace tilewright
