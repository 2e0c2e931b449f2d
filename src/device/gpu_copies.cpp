// The driver's calls.
#include "device/gpu_copies.hpp"

#include <fmt/format.h>

#include "device/gpu_driver.hpp"

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

namespace {

void queue_zeros(const Gpu& gpu, CUdeviceptr to, std::size_t pitch, std::size_t width, std::size_t height,
                 CUstream_st* stream) {
  if (width == 0 || height == 0) return;
  const CUresult result = gpu.driver().fill_words(to, pitch, 0, width / sizeof(unsigned), height, stream);
  if (result != CUDA_SUCCESS)
    gpu.driver().check(result, "cuMemsetD2D32Async", fmt::format("{} x {} bytes", width, height));
}

}  // namespace

void queue_padded(const Gpu& gpu, const GpuPaddedCopy& c, CUstream_st* stream) {
  const Gpu::Current current(gpu);
  const auto bytes = [&](std::int64_t elements) {
    return static_cast<std::size_t>(elements) * static_cast<std::size_t>(c.element_bytes);
  };
  const auto to = reinterpret_cast<CUdeviceptr>(c.to);
  const std::size_t pitch = bytes(c.to_rows);
  const auto columns = static_cast<std::size_t>(c.columns);
  CUDA_MEMCPY2D copy{};
  copy.srcMemoryType = copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.srcDevice = reinterpret_cast<CUdeviceptr>(c.from);
  copy.srcPitch = c.columns == 1 ? bytes(c.rows) : bytes(c.ld);
  copy.dstDevice = to;
  copy.dstPitch = pitch;
  copy.WidthInBytes = bytes(c.rows);
  copy.Height = columns;
  if (const CUresult result = gpu.driver().queue_matrix(&copy, stream); result != CUDA_SUCCESS)
    gpu.driver().check(result, "cuMemcpy2DAsync",
                       fmt::format("{} x {} bytes, {} apart", copy.WidthInBytes, columns, copy.srcPitch));
  queue_zeros(gpu, to + bytes(c.rows), pitch, pitch - bytes(c.rows), columns, stream);
  queue_zeros(gpu, to + pitch * columns, pitch, pitch, static_cast<std::size_t>(c.to_columns) - columns,
              stream);
}

}  // namespace tilewright
