// Implements the copies with the driver's calls.
#include "device/gpu/copies.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>

#include "device/gpu/driver.hpp"

namespace tilewright {
namespace {

// CU_DEVICE_ATTRIBUTE_MAX_PITCH of every existing GPU: block copies have at most this pitch.
constexpr std::size_t most_pitch = std::numeric_limits<std::int32_t>::max();

// Queues one piece of the block, in parts that the driver accepts.
void queue_piece(const Gpu& gpu, CUDA_MEMCPY2D copy, std::size_t piece, const CopiedBlock& block,
                 CUstream_st* stream) {
  const std::size_t source = piece * copy.srcPitch, destination = piece * copy.dstPitch;
  copy.Height = 1;
  std::size_t width = 0;
  for (std::size_t begin = 0; begin < block.piece_bytes; begin += width) {
    width = std::min(block.piece_bytes - begin, most_pitch);
    CUDA_MEMCPY2D part = copy;
    part.WidthInBytes = part.srcPitch = part.dstPitch = width;
    if (part.srcHost != nullptr) part.srcHost = static_cast<const char*>(part.srcHost) + source + begin;
    if (part.dstHost != nullptr) part.dstHost = static_cast<char*>(part.dstHost) + destination + begin;
    part.srcDevice += source + begin, part.dstDevice += destination + begin;
    gpu.driver().check(gpu.driver().queue_block(&part, stream), "cuMemcpy2DAsync",
                       fmt::format("{} bytes of a piece", width));
  }
}

void queue_block(const Gpu& gpu, CUDA_MEMCPY2D copy, const CopiedBlock& block, CUstream_st* stream) {
  const Gpu::Current current(gpu);
  if (std::max({block.device_pitch, block.host_pitch, block.piece_bytes}) > most_pitch) {
    for (std::size_t piece = 0; piece < block.pieces; ++piece) queue_piece(gpu, copy, piece, block, stream);
    return;
  }
  copy.WidthInBytes = block.piece_bytes, copy.Height = block.pieces;
  gpu.driver().check(gpu.driver().queue_block(&copy, stream), "cuMemcpy2DAsync",
                     fmt::format("{} pieces of {} bytes", block.pieces, block.piece_bytes));
}

}  // namespace

void queue_to_device(const Gpu& gpu, void* device_address, const void* from, std::size_t bytes,
                     CUstream_st* stream) {
  const Gpu::Current current(gpu);
  const auto to = reinterpret_cast<CUdeviceptr>(device_address);
  const CUresult result = gpu.driver().queue_to_device(to, from, bytes, stream);
  if (result != CUDA_SUCCESS) gpu.driver().check(result, "cuMemcpyHtoDAsync", fmt::format("{} bytes", bytes));
}

void queue_to_host(const Gpu& gpu, void* to, const void* device_address, std::size_t bytes,
                   CUstream_st* stream) {
  const Gpu::Current current(gpu);
  const auto from = reinterpret_cast<CUdeviceptr>(device_address);
  const CUresult result = gpu.driver().queue_to_host(to, from, bytes, stream);
  if (result != CUDA_SUCCESS) gpu.driver().check(result, "cuMemcpyDtoHAsync", fmt::format("{} bytes", bytes));
}

void queue_to_device(const Gpu& gpu, void* device_address, const void* from, const CopiedBlock& block,
                     CUstream_st* stream) {
  CUDA_MEMCPY2D copy{};
  copy.srcMemoryType = CU_MEMORYTYPE_HOST, copy.srcHost = from, copy.srcPitch = block.host_pitch;
  copy.dstMemoryType = CU_MEMORYTYPE_DEVICE, copy.dstPitch = block.device_pitch;
  copy.dstDevice = reinterpret_cast<CUdeviceptr>(device_address);
  queue_block(gpu, copy, block, stream);
}

void queue_to_host(const Gpu& gpu, void* to, const void* device_address, const CopiedBlock& block,
                   CUstream_st* stream) {
  CUDA_MEMCPY2D copy{};
  copy.srcMemoryType = CU_MEMORYTYPE_DEVICE, copy.srcPitch = block.device_pitch;
  copy.srcDevice = reinterpret_cast<CUdeviceptr>(device_address);
  copy.dstMemoryType = CU_MEMORYTYPE_HOST, copy.dstHost = to, copy.dstPitch = block.host_pitch;
  queue_block(gpu, copy, block, stream);
}

bool reach_peer(const Gpu& gpu, const Gpu& other) {
  const GpuDriver& driver = gpu.driver();
  CUdevice own = 0, others = 0;
  int can = 0;
  driver.check(driver.device(&own, gpu.device()), "cuDeviceGet", fmt::format("{}", gpu.device()));
  driver.check(driver.device(&others, other.device()), "cuDeviceGet", fmt::format("{}", other.device()));
  driver.check(driver.can_access_peer(&can, own, others), "cuDeviceCanAccessPeer",
               fmt::format("{}, {}", gpu.device(), other.device()));
  if (can == 0) return false;
  const Gpu::Current current(gpu);
  const CUresult result = driver.enable_peer_access(other.context(), 0);
  if (result != CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED)
    driver.check(result, "cuCtxEnablePeerAccess", fmt::format("{}, {}", gpu.device(), other.device()));
  return true;
}

void queue_from_peer(const Gpu& gpu, void* to, const Gpu& other, const void* from, std::size_t bytes,
                     CUstream_st* stream) {
  const Gpu::Current current(gpu);
  gpu.driver().check(
      gpu.driver().queue_from_peer(reinterpret_cast<CUdeviceptr>(to), gpu.context(),
                                   reinterpret_cast<CUdeviceptr>(from), other.context(), bytes, stream),
      "cuMemcpyPeerAsync", fmt::format("{} bytes", bytes));
}

void queue_from_peer(const Gpu& gpu, void* to, const void* from, const CopiedBlock& block,
                     CUstream_st* stream) {
  CUDA_MEMCPY2D copy{};
  copy.srcMemoryType = copy.dstMemoryType = CU_MEMORYTYPE_UNIFIED;  // devices follow from addresses
  copy.srcDevice = reinterpret_cast<CUdeviceptr>(from), copy.srcPitch = block.host_pitch;
  copy.dstDevice = reinterpret_cast<CUdeviceptr>(to), copy.dstPitch = block.device_pitch;
  queue_block(gpu, copy, block, stream);
}

std::int64_t free_memory(const Gpu& gpu) {
  const Gpu::Current current(gpu);
  std::size_t free = 0, all = 0;
  gpu.driver().check(gpu.driver().memory_info(&free, &all), "cuMemGetInfo");
  return std::int64_t(free);
}

bool is_pinned_memory(const Gpu& gpu, const void* address, std::int64_t bytes) {
  const Gpu::Current current(gpu);
  CUmemorytype type{};
  CUdeviceptr first = 0;
  std::size_t size = 0;
  std::array attributes{CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR,
                        CU_POINTER_ATTRIBUTE_RANGE_SIZE};
  std::array<void*, attributes.size()> values{&type, &first, &size};
  const auto at = reinterpret_cast<CUdeviceptr>(address);
  // The driver returns zeros for memory that it does not know.
  if (gpu.driver().pointer_attributes(unsigned(attributes.size()), attributes.data(), values.data(), at) !=
      CUDA_SUCCESS)
    return false;
  return type == CU_MEMORYTYPE_HOST && at >= first &&
         at - first + std::size_t(std::max<std::int64_t>(bytes, 1)) <= size;
}

RegisteredMemory::RegisteredMemory(const Gpu& gpu, void* data, std::size_t bytes) : gpu_(gpu), data_(data) {
  const Gpu::Current current(gpu);
  gpu.driver().check(gpu.driver().host_register(data, bytes, CU_MEMHOSTREGISTER_PORTABLE),
                     "cuMemHostRegister", fmt::format("{} bytes", bytes));
}
RegisteredMemory::~RegisteredMemory() {
  try {
    const Gpu::Current current(gpu_);
    gpu_.driver().host_unregister(data_);
  } catch (...) {
    // The device is lost, and with it the driver's registration.
  }
}

}  // namespace tilewright
