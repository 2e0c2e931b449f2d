// The batches of one problem that follow each other through an arena's operands, so that a launch finds
// nothing of the previous one in a cache. It moves no data.
#pragma once

#include "measure/gpu/arena.hpp"

namespace tilewright {

// Returns the bytes that one batch takes of each operand, for problems of one size in any layout. Matrices of
// a pointer batch lie gpu_pointer_distance() apart; the last block of an interleaved batch is stored whole.
GpuOperandBytes gpu_operand_bytes(const GemmProblem& problem);

// Throws Error(unsupported) naming `argument`, the problem and the bytes if operands of these sizes do not
// fit the device's memory.
void check_gpu_memory(const char* argument, const GemmProblem& problem, const GpuOperandBytes& bytes,
                      const GpuLimits& limits);

class GpuRing {
 public:
  // Each batch takes `batch` bytes of each operand, which must fit the arena.
  GpuRing(const GpuArena& arena, const GpuOperandBytes& batch);

  std::int64_t batches() const { return batches_; }
  // Returns the addresses of batch `index`, modulo their number.
  Operands at(std::int64_t index) const;

 private:
  const GpuArena& arena_;
  GpuOperandBytes step_;
  std::int64_t batches_ = 1;
};

}  // namespace tilewright
