// A part of a device's multiprocessors (a green context of the driver). Kernels on its streams leave the
// remaining multiprocessors free, so that other kernels can start without waiting.
#pragma once

#include <memory>

#include "device/gpu/gpu.hpp"

struct CUgreenCtx_st;

namespace tilewright {

class GpuPartition {
 public:
  // Makes a partition of at least `multiprocessors`. Returns null if the driver cannot split the device so;
  // then streams use all of it.
  static std::unique_ptr<GpuPartition> make(const Gpu& gpu, int multiprocessors);
  ~GpuPartition();
  GpuPartition(const GpuPartition&) = delete;
  GpuPartition& operator=(const GpuPartition&) = delete;

  int multiprocessors() const { return multiprocessors_; }
  CUgreenCtx_st* context() const { return context_; }

 private:
  GpuPartition(const Gpu& gpu, CUgreenCtx_st* context, int multiprocessors)
      : gpu_(gpu), context_(context), multiprocessors_(multiprocessors) {}

  const Gpu& gpu_;
  CUgreenCtx_st* context_;
  int multiprocessors_;
};

}  // namespace tilewright
