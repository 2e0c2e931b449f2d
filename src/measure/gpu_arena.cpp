// Allocation and filling.
#include "measure/gpu_arena.hpp"

#include <algorithm>
#include <random>
#include <vector>

namespace tilewright {
namespace {

template <class R>
void fill_with(GpuBuffer& buffer, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<R> uniform(R(-0.5), R(0.5));
  std::vector<R> values((16u << 20) / sizeof(R) - 16);  // a period that no matrix size divides
  for (R& value : values) value = uniform(random);
  const std::size_t bytes = std::min(buffer.bytes(), values.size() * sizeof(R));
  buffer.write(values.data(), bytes);
  buffer.repeat(bytes);
}

}  // namespace

GpuArena::GpuArena(const Gpu& gpu, std::size_t operand_bytes)
    : gpu_(gpu),
      a_(gpu, operand_bytes),
      b_(gpu, operand_bytes),
      c_(gpu, operand_bytes),
      streamed_c_(gpu, operand_bytes) {
  streamed_c_.fill(0, nullptr);
}

void GpuArena::fill(DType dtype) {
  if (filled_ == dtype) return;
  std::uint64_t seed = 7;
  for (GpuBuffer* buffer : {&a_, &b_, &c_})
    if (dtype == DType::f32 || dtype == DType::c64)
      fill_with<float>(*buffer, seed++);
    else
      fill_with<double>(*buffer, seed++);
  filled_ = dtype;
}

GpuBuffer& GpuArena::pointers(int operand, std::size_t bytes) {
  auto& buffer = pointers_[operand];
  if (!buffer || buffer->bytes() < bytes) {
    buffer.reset();
    buffer.emplace(gpu_, bytes);
  }
  return *buffer;
}

}  // namespace tilewright
