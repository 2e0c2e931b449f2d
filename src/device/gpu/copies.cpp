// The driver's calls.
#include "device/gpu/copies.hpp"

#include <fmt/format.h>

#include "device/gpu/driver.hpp"

namespace tilewright {

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

}  // namespace tilewright
