// A case at its full size: three operands on the device that all cases share, and launches of our kernels on
// them. It times nothing and checks nothing.
#pragma once

#include <optional>

#include "gemm/device_traffic.hpp"
#include "gemm_small_device.hpp"

namespace tilewright::bench {

// Operands A, B and C of `bytes` each, with uniform values of the last type asked for.
class SmallBuffers {
 public:
  SmallBuffers(const Gpu& gpu, std::size_t bytes);
  // Does nothing where values of the same real type are there already.
  void fill(DType dtype);
  std::size_t bytes() const { return buffers_.front().bytes(); }
  void* operator[](int operand) { return buffers_[static_cast<std::size_t>(operand)].as<void>(); }

 private:
  template <class R>
  void fill_with();

  std::vector<GpuBuffer> buffers_;
  std::optional<bool> holds_single_;
};

// What a batch must move, in whole sectors of 32 bytes, addresses and sizes included.
GpuTraffic traffic_of(const SmallBatch& batch);
double flops_of(const SmallBatch& batch);

class SmallLoad {
 public:
  // `buffers` must outlive it and hold values of the case's type.
  // Strided batches shorter than the buffers lie there behind each other, as often as they fit.
  SmallLoad(const Gpu& gpu, const SmallCase& one, SmallBuffers& buffers);
  SmallLoad(const SmallLoad&) = delete;
  SmallLoad& operator=(const SmallLoad&) = delete;

  const SmallBatch& batch() const { return batch_; }
  const GemmSmallOperands& operands() const { return operands_; }
  // Bytes from the operand's begin to that of copy `turn` of the batch, modulo their number: launches that
  // walk through them find nothing of the one before in a cache.
  std::size_t offset(int operand, std::int64_t turn) const;
  void launch(const GemmSmallKernel& kernel, CUstream_st* stream, std::int64_t turn = 0) const;

 private:
  SmallBatch batch_;
  DeviceArrays arrays_;
  std::string scalars_;  // alpha and beta of the case's type
  GemmSmallOperands operands_;
  std::int64_t copies_ = 1;
  std::size_t distance_[3] = {};  // from one copy to the next
};

}  // namespace tilewright::bench
