// Steps from batch to batch.
#include "measure/gpu/ring.hpp"

#include <algorithm>

namespace tilewright {
namespace {

constexpr std::size_t align_bytes = 256;  // as allocations have it

std::size_t aligned(std::size_t bytes) { return (bytes + align_bytes - 1) / align_bytes * align_bytes; }

}  // namespace

GpuOperandBytes gpu_operand_bytes(const GemmProblem& p) {
  const std::int64_t in_block = is_interleaved(p.layout) ? p.block : 1;
  const std::int64_t steps = (p.batch_count + in_block - 1) / in_block;
  const auto bytes = [&](std::int64_t stride, std::int64_t ld, std::int64_t columns) {
    const std::int64_t matrices = ld * columns * in_block;
    const std::int64_t step = p.layout == Layout::pointer
                                  ? gpu_pointer_distance(matrices, size_bytes(p.dtype))
                              : is_interleaved(p.layout) ? matrices
                                                         : stride;
    return static_cast<std::size_t>(((steps - 1) * step + matrices) * size_bytes(p.dtype));
  };
  return {bytes(p.stride_a, p.lda, p.a_cols()), bytes(p.stride_b, p.ldb, p.b_cols()),
          bytes(p.stride_c, p.ldc, p.n)};
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
