// Copies between host and device memory that are queued on a stream instead of waited for: what moves many
// matrices that lie apart, or runs beside kernels. Copies that wait are Gpu's.
#pragma once

#include "device/gpu/gpu.hpp"

namespace tilewright {

// Queues a copy of `bytes` bytes. Where the memory of the host is not pinned the driver stages them and may
// wait. Both sides must stay as they are until the stream is synchronized. Throws Error naming the driver's
// call.
void queue_to_device(const Gpu& gpu, void* device_address, const void* from, std::size_t bytes,
                     CUstream_st* stream);
void queue_to_host(const Gpu& gpu, void* to, const void* device_address, std::size_t bytes,
                   CUstream_st* stream);

}  // namespace tilewright
