// Copies between host and device memory that are queued on a stream instead of waited for: what moves many
// matrices that lie apart, or runs beside kernels. Copies that wait are Gpu's.
#pragma once

#include "device/gpu.hpp"

namespace tilewright {

// Queues a copy of `bytes` bytes. Where the memory of the host is not pinned the driver stages them and may
// wait. Both sides must stay as they are until the stream is synchronized. Throws Error naming the driver's
// call.
void queue_to_device(const Gpu& gpu, void* device_address, const void* from, std::size_t bytes,
                     CUstream_st* stream);
void queue_to_host(const Gpu& gpu, void* to, const void* device_address, std::size_t bytes,
                   CUstream_st* stream);

// A matrix in device memory on its way to a place there of its own. Columns stand for what is contiguous.
struct GpuPaddedCopy {
  const void* from = nullptr;
  std::int64_t ld = 0;  // elements
  std::int64_t rows = 0, columns = 0;
  void* to = nullptr;
  std::int64_t to_rows = 0, to_columns = 0;  // to_rows is the leading dimension too
  std::int64_t element_bytes = 0;            // a multiple of 4
};
constexpr std::int64_t gpu_largest_pitch = 2147483647;  // bytes from column to column of such a copy

// Queues the copy; elements beyond the matrix become zero. Throws Error naming the driver's call.
void queue_padded(const Gpu& gpu, const GpuPaddedCopy& copy, CUstream_st* stream);

}  // namespace tilewright
