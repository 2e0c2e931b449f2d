// Advances from batch to batch.
#include "measure/gpu/ring.hpp"

#include <algorithm>

#include "measure/gpu/pointers.hpp"

namespace tilewright {
namespace {

constexpr std::size_t align_bytes = 256;  // as allocations are aligned

std::size_t aligned(std::size_t bytes) { return (bytes + align_bytes - 1) / align_bytes * align_bytes; }

}  // namespace

GpuOperandBytes gpu_operand_bytes(const GemmProblem& p) {
  const std::int64_t in_block = is_interleaved(p.layout) ? p.block : 1;
  const std::int64_t steps = (p.batch_count + in_block - 1) / in_block;
  const auto bytes = [&](int operand) {
    const StoredOperand x = gpu_stored_operand(p, operand);
    return static_cast<std::size_t>(((steps - 1) * x.step + x.column_step * x.columns) * size_bytes(p.dtype));
  };
  return {bytes(0), bytes(1), bytes(2)};
}

void check_gpu_memory(const char* argument, const GemmProblem& problem, const GpuOperandBytes& bytes,
                      const GpuLimits& limits) {
  constexpr double gibibyte = 1 << 30;
  const double needed = double(bytes.a) + double(bytes.b) + double(bytes.c);
  if (needed <= double(limits.memory_bytes)) return;
  throw Error(ErrorCode::unsupported, argument,
              fmt::format("{} = {}: its operands take {:.1f} GiB, and {} has {:.1f} GiB of memory", argument,
                          to_string(problem), needed / gibibyte, limits.name,
                          double(limits.memory_bytes) / gibibyte));
}

GpuRing::GpuRing(const GpuArena& arena, const GpuOperandBytes& batch)
    : arena_(arena), step_{aligned(batch.a), aligned(batch.b), aligned(batch.c)} {
  const auto fit = [](std::size_t held, std::size_t step) {
    return static_cast<std::int64_t>(held / std::max(align_bytes, step));
  };
  const GpuOperandBytes& held = arena.bytes();
  batches_ =
      std::max<std::int64_t>(1, std::min({fit(held.a, step_.a), fit(held.b, step_.b), fit(held.c, step_.c)}));
}

Operands GpuRing::at(std::int64_t index) const {
  const auto turn = static_cast<std::size_t>(index % batches_);
  const auto from = [&](void* base, std::size_t step) { return static_cast<char*>(base) + turn * step; };
  Operands o;
  o.a = from(arena_.a(), step_.a), o.b = from(arena_.b(), step_.b), o.c = from(arena_.c(), step_.c);
  return o;
}

}  // namespace tilewright
