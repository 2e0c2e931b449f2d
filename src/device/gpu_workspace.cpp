// Loans in the order in which they are queued. An event after each use, and not the stream's handle, says
// what the next one has to wait for: a stream may have been destroyed since, and its handle given to another.
#include "device/gpu_workspace.hpp"

#include "device/gpu_driver.hpp"
#include "tilewright/types.hpp"

namespace tilewright {
namespace {

constexpr std::size_t scratch_alignment = 256;

std::size_t rounded(std::size_t bytes) {
  return (bytes + scratch_alignment - 1) / scratch_alignment * scratch_alignment;
}

bool is_capturing(const Gpu& gpu, CUstream_st* stream) {
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  gpu.driver().check(gpu.driver().stream_is_capturing(stream, &status), "cuStreamIsCapturing");
  return status == CU_STREAM_CAPTURE_STATUS_ACTIVE;
}

}  // namespace

GpuWorkspace::GpuWorkspace(const Gpu& gpu, std::size_t bytes, std::size_t zero_bytes)
    : gpu_(gpu),
      bytes_(rounded(bytes)),
      zero_bytes_(zero_bytes),
      memory_(gpu, bytes_ + zero_bytes),
      last_use_(gpu) {
  memory_.fill(0, nullptr);
  last_use_.record(nullptr);
  last_use_.synchronize();
}

GpuWorkspace::Loan::Loan(GpuWorkspace& workspace, CUstream_st* stream)
    : workspace_(workspace), stream_(stream) {
  const Gpu& gpu = workspace_.gpu_;
  const Gpu::Current current(gpu);
  if (is_capturing(gpu, stream)) {
    const std::size_t bytes = workspace_.bytes_ + workspace_.zero_bytes_;
    gpu.driver().check(gpu.driver().memory_allocate_async(&own_, bytes, stream), "cuMemAllocAsync",
                       std::to_string(bytes));
    gpu.driver().check(gpu.driver().fill_bytes(own_ + workspace_.bytes_, 0, workspace_.zero_bytes_, stream),
                       "cuMemsetD8Async");
    return;
  }
  lock_ = std::unique_lock(workspace_.mutex_);
  if (workspace_.used_) workspace_.last_use_.hold_back(stream);
}

GpuWorkspace::Loan::~Loan() {
  // A destructor cannot report; what fails here fails again, and is reported, at the next call of the stream.
  const Gpu& gpu = workspace_.gpu_;
  const Gpu::Current current(gpu);
  if (own_ != 0) {
    (void)gpu.driver().memory_free_async(own_, stream_);
    return;
  }
  try {
    workspace_.last_use_.record(stream_);
    workspace_.used_ = true;
  } catch (const Error&) {
  }
}

void* GpuWorkspace::Loan::scratch() const {
  return own_ != 0 ? reinterpret_cast<void*>(static_cast<std::uintptr_t>(own_))
                   : workspace_.memory_.as<void>();
}
void* GpuWorkspace::Loan::zeros() const { return static_cast<char*>(scratch()) + workspace_.bytes_; }

}  // namespace tilewright
