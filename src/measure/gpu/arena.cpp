// Allocates and fills the operands.
#include "measure/gpu/arena.hpp"

#include <algorithm>
#include <iterator>

namespace tilewright {
namespace {

template <class R>
void fill_with(GpuBuffer& buffer, Data kind, std::uint64_t seed, std::vector<R>& values) {
  values.resize((16u << 20) / sizeof(R) - 16);  // a period that no matrix size divides
  fill(values.data(), std::ssize(values), dtype_of<R>, kind, seed);
  const std::size_t bytes = std::min(buffer.bytes(), values.size() * sizeof(R));
  buffer.write(values.data(), bytes);
  buffer.repeat(bytes);
}

bool is_narrow(DType dtype) { return dtype == DType::f32 || dtype == DType::c64; }

}  // namespace

GpuArena::GpuArena(const Gpu& gpu, std::size_t operand_bytes) : gpu_(gpu) {
  reserve({operand_bytes, operand_bytes, operand_bytes});
}

void GpuArena::reserve(const GpuOperandBytes& wanted) {
  std::size_t* const held[] = {&bytes_.a, &bytes_.b, &bytes_.c};
  const std::size_t needed[] = {wanted.a, wanted.b, wanted.c};
  // Release operands that are too small first, so that old and new need not fit side by side.
  for (int i = 0; i < 3; ++i) {
    if (operands_[i] && needed[i] <= *held[i]) continue;
    operands_[i].reset();
    filled_.reset();
  }
  for (int i = 0; i < 3; ++i) {
    if (operands_[i]) continue;
    *held[i] = std::max(needed[i], *held[i]);
    operands_[i].emplace(gpu_, *held[i]);
  }
}

void GpuArena::fill(DType dtype, Data kind) {
  if (filled_ == std::pair(dtype, kind)) return;
  std::uint64_t seed = 7;
  for (int i = 0; i < 3; ++i)
    if (is_narrow(dtype))
      fill_with(*operands_[i], kind, seed++, narrow_[i]);
    else
      fill_with(*operands_[i], kind, seed++, wide_[i]);
  filled_.emplace(dtype, kind);
}

double GpuArena::real_at(int operand, std::int64_t index) const {
  const auto at = static_cast<std::size_t>(index);
  if (is_narrow(filled_.value().first)) return narrow_[operand][at % narrow_[operand].size()];
  return wide_[operand][at % wide_[operand].size()];
}

std::size_t GpuArena::operand_bytes() const { return std::min({bytes_.a, bytes_.b, bytes_.c}); }

void* GpuArena::streamed_c() {
  if (!streamed_c_ || streamed_c_->bytes() < operand_bytes()) {
    streamed_c_.reset();
    streamed_c_.emplace(gpu_, operand_bytes());
    streamed_c_->fill(0, nullptr);
    gpu_.synchronize();
  }
  return streamed_c_->as<void>();
}

}  // namespace tilewright
