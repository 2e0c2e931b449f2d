// Tensor maps: descriptions of a matrix in device memory for the copy engine of compute capability 9.0. A map
// is plain data that is passed to kernels by value.
#pragma once

#include <cstdint>

#include "device/gpu/gpu.hpp"

namespace tilewright {

enum class GpuTensorType : unsigned char { f32, f64 };

// A matrix whose columns are `stride_bytes` apart, read in boxes.
struct GpuTensor {
  GpuTensorType type = GpuTensorType::f64;
  const void* address = nullptr;  // a multiple of 16
  std::uint64_t inner = 0;        // contiguous elements of a run, and the number of such runs
  std::uint64_t outer = 0;
  std::uint64_t stride_bytes = 0;  // a multiple of 16
  std::uint32_t box_inner = 0;     // at most 256 each
  std::uint32_t box_outer = 0;
  bool swizzled = false;  // boxes are 128 bytes wide and stored with their 16-byte chunks permuted
};

// Fills the 128 bytes of `map`, which lie at a multiple of 64. Throws Error(unsupported) if the driver has no
// tensor maps, Error naming the tensor if it refuses it.
void encode_tensor_map(const Gpu& gpu, const GpuTensor& tensor, void* map);

}  // namespace tilewright
