// Copies queued on a stream, between host and device memory and between GPUs; pinning of host memory.
#pragma once

#include "device/gpu/gpu.hpp"

namespace tilewright {

// Queues a copy; the driver stages unpinned memory and may wait. Both sides must stay unchanged until the
// stream is synchronized. Throws Error naming the driver's call.
void queue_to_device(const Gpu& gpu, void* device_address, const void* from, std::size_t bytes,
                     CUstream_st* stream);
void queue_to_host(const Gpu& gpu, void* to, const void* device_address, std::size_t bytes,
                   CUstream_st* stream);

// Pieces of equal length at a fixed pitch on either side: the columns of a matrix's part.
struct CopiedBlock {
  std::size_t piece_bytes = 0, pieces = 0;
  std::size_t device_pitch = 0, host_pitch = 0;
};
void queue_to_device(const Gpu& gpu, void* device_address, const void* from, const CopiedBlock& block,
                     CUstream_st* stream);
void queue_to_host(const Gpu& gpu, void* to, const void* device_address, const CopiedBlock& block,
                   CUstream_st* stream);

// Enables `gpu` to read memory of `other`, for good. Returns true if copies need no staging in host memory.
bool reach_peer(const Gpu& gpu, const Gpu& other);

// Queues a copy from `other` on a stream of `gpu`; without peer access the driver stages it on the host.
void queue_from_peer(const Gpu& gpu, void* to, const Gpu& other, const void* from, std::size_t bytes,
                     CUstream_st* stream);

// Queues a copy of pieces of equal length from another GPU to which there is peer access.
void queue_from_peer(const Gpu& gpu, void* to, const void* from, const CopiedBlock& block,
                     CUstream_st* stream);

// Returns the bytes of the GPU's memory that are free.
std::int64_t free_memory(const Gpu& gpu);

// True if one allocation or registration holds `bytes` bytes from `address` on: copies need no staging.
bool is_pinned_memory(const Gpu& gpu, const void* address, std::int64_t bytes);

// Pins pageable memory of the caller for every GPU while this lives.
class RegisteredMemory {
 public:
  // Throws Error naming the bytes if the driver refuses, as for memory that is pinned already.
  RegisteredMemory(const Gpu& gpu, void* data, std::size_t bytes);
  ~RegisteredMemory();
  RegisteredMemory& operator=(RegisteredMemory&&) = delete;

 private:
  const Gpu& gpu_;
  void* data_;
};

}  // namespace tilewright
