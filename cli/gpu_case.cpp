// Carving batches out of the arena.
#include "gpu_case.hpp"

#include <algorithm>

namespace tilewright::cli {
GpuCase::GpuCase(GpuArena& arena, const BenchCase& bench_case) : arena_(arena), case_(bench_case) {
  const GemmProblem& p = case_.problem;
  const GpuOperandBytes batch = gpu_operand_bytes(p);
  const bool is_large = case_.family == "gemm";
  if (is_large) {
    check_gpu_memory("--sizes", p, batch, arena.gpu().limits());
    arena.reserve(batch);
  }
  if (const std::size_t most = std::max({batch.a, batch.b, batch.c});
      most > arena.operand_bytes() && !is_large)
    throw Error(ErrorCode::invalid_argument, "--batch",
                fmt::format("--batch: {} needs operands of {} bytes, and {} are there", to_string(p), most,
                            arena.operand_bytes()));
  arena.fill(p.dtype, case_.data);
  ring_.emplace(arena, batch);
  check_.emplace(sampled_check(arena, p, case_.alpha, case_.beta));
  if (is_large) return;
  order_ = pointer_order(p.batch_count, case_.pointer_order == PointerOrder::random);
  if (p.layout == Layout::pointer) pointers_to(0);
}

Operands GpuCase::pointers_to(std::int64_t index) {
  if (!pointers_)
    pointers_.emplace(
        arena_.gpu(), case_.problem, batches(), [&](std::int64_t i) { return in_place(i); }, order_);
  return pointers_->at(index);
}

}  // namespace tilewright::cli
