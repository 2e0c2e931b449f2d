// Tensor maps: what the copy engine of compute capability 9.0 knows of a matrix in device memory. A map is
// plain data that is passed to kernels by value.
#pragma once

#include <cstdint>

#include "device/gpu/gpu.hpp"

namespace tilewright {

enum class GpuTensorType : unsigned char { f32, f64 };

// A matrix whose columns are `stride_bytes` apart, read in boxes.
struct GpuTensor {
  GpuTensorType type = GpuTensorType::f64;
  const void* address = nullptr;  // a multiple of 16
  std::uint64_t inner = 0;        // elements that lie side by side, and how many such runs there are
  std::uint64_t outer = 0;
  std::uint64_t stride_bytes = 0;  // a multiple of 16
  std::uint32_t box_inner = 0;     // at most 256 each
  std::uint32_t box_outer = 0;
  bool swizzled = false;  // boxes are 128 bytes wide and land with their 16-byte chunks exchanged
};

// Fills the 128 bytes of `map`, which lie at a multiple of 64. Throws Error(unsupported) where the driver has
// no tensor maps, Error naming the tensor where it refuses it.
void encode_tensor_map(const Gpu& gpu, const GpuTensor& tensor, void* map);

}  // namespace tilewright
