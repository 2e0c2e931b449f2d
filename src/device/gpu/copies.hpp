// Copies between host and device memory, and from GPU to GPU, that are queued on a stream instead of waited
// for: what moves many matrices that lie apart, or runs beside kernels; and memory of the host that is pinned
// as it lies. Copies that wait are Gpu's.
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

// Pieces of equal length, which begin so many bytes apart on either side: columns of a matrix's part.
struct CopiedBlock {
  std::size_t piece_bytes = 0, pieces = 0;
  std::size_t device_pitch = 0, host_pitch = 0;
};
void queue_to_device(const Gpu& gpu, void* device_address, const void* from, const CopiedBlock& block,
                     CUstream_st* stream);
void queue_to_host(const Gpu& gpu, void* to, const void* device_address, const CopiedBlock& block,
                   CUstream_st* stream);

// Whether `gpu` reads memory of `other`, another device, without a detour through the host's. The way is
// opened, and stays open.
bool reach_peer(const Gpu& gpu, const Gpu& other);

// Queues a copy from memory of `other` into that of `gpu` on a stream of `gpu`; where it is not reached, the
// driver goes through the host's memory.
void queue_from_peer(const Gpu& gpu, void* to, const Gpu& other, const void* from, std::size_t bytes,
                     CUstream_st* stream);

// Pieces of equal length from memory of another GPU, which is reached.
void queue_from_peer(const Gpu& gpu, void* to, const void* from, const CopiedBlock& block,
                     CUstream_st* stream);

// Bytes of the GPU's memory that nobody has.
std::int64_t free_memory(const Gpu& gpu);

// Whether copies reach `bytes` bytes of the host's memory from `address` on without staging: one allocation
// or registration holds all of them. Copies across two are refused by the driver.
bool is_pinned_memory(const Gpu& gpu, const void* address, std::int64_t bytes);

// Pageable memory of the caller's, pinned for every GPU while this lives.
class RegisteredMemory {
 public:
  // Throws Error naming the bytes where the driver refuses, as for what is pinned already.
  RegisteredMemory(const Gpu& gpu, void* data, std::size_t bytes);
  ~RegisteredMemory();
  RegisteredMemory(const RegisteredMemory&) = delete;
  RegisteredMemory& operator=(const RegisteredMemory&) = delete;

 private:
  const Gpu& gpu_;
  void* data_;
};

}  // namespace tilewright
