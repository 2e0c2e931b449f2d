// Lends in queue order. The next loan waits for an event, not for a stream, whose handle may be reused.
#include "device/gpu/workspace.hpp"

#include <algorithm>

#include "device/gpu/driver.hpp"
#include "device/gpu/gpu.hpp"
#include "tilewright/types.hpp"

namespace tilewright {
namespace {

constexpr std::size_t scratch_alignment = 256;

std::size_t rounded(std::size_t bytes) {
  return (bytes + scratch_alignment - 1) / scratch_alignment * scratch_alignment;
}

void* workspace_address(unsigned long long address) {
  return reinterpret_cast<void*>(static_cast<std::uintptr_t>(address));
}

}  // namespace

GpuWorkspace::GpuWorkspace(const Gpu& gpu) : gpu_(gpu), last_use_(gpu) {}

void GpuWorkspace::reserve(std::size_t bytes, std::size_t zero_bytes) {
  const std::lock_guard lock(mutex_);
  if (rounded(bytes) <= bytes_ && zero_bytes <= zero_bytes_) return;
  const std::size_t most = std::max(bytes_, rounded(bytes)), most_zeros = std::max(zero_bytes_, zero_bytes);
  GpuBuffer grown(gpu_, most + most_zeros);
  grown.fill(0, nullptr);
  GpuEvent filled(gpu_);
  filled.record(nullptr);
  filled.synchronize();
  if (used_) last_use_.synchronize();  // the last use came after all earlier ones
  memory_.reset();
  memory_.emplace(std::move(grown));
  bytes_ = most;
  zero_bytes_ = most_zeros;
}

GpuWorkspace::Loan::Loan(GpuWorkspace& workspace, std::size_t bytes, std::size_t zero_bytes,
                         CUstream_st* stream)
    : workspace_(workspace), stream_(stream) {
  const Gpu& gpu = workspace_.gpu_;
  const Gpu::Current current(gpu);
  if (is_capturing(gpu, stream)) {
    const std::size_t begin = rounded(bytes), all = begin + zero_bytes;
    gpu.driver().check(gpu.driver().memory_allocate_async(&own_, all, stream), "cuMemAllocAsync",
                       std::to_string(all));
    if (zero_bytes > 0)
      gpu.driver().check(gpu.driver().fill_bytes(own_ + begin, 0, zero_bytes, stream), "cuMemsetD8Async");
    scratch_ = workspace_address(own_);
    zeros_ = workspace_address(own_ + begin);
    return;
  }
  lock_ = std::unique_lock(workspace_.mutex_);
  if (workspace_.used_) workspace_.last_use_.hold_back(stream);
  scratch_ = workspace_.memory_->as<void>();
  zeros_ = workspace_.memory_->as<void>(workspace_.bytes_);
}

GpuWorkspace::Loan::~Loan() {
  // A destructor cannot report; a failure here recurs, and is reported, at the next call of the stream.
  const Gpu& gpu = workspace_.gpu_;
  try {
    const Gpu::Current current(gpu);
    if (own_ != 0) {
      (void)gpu.driver().memory_free_async(own_, stream_);
      return;
    }
    workspace_.last_use_.record(stream_);
    workspace_.used_ = true;
  } catch (...) {
  }
}

}  // namespace tilewright
