// The batches of one problem that follow each other through an arena's operands, so that a launch finds
// nothing of the one before in a cache. It moves no data.
#pragma once

#include "measure/gpu/arena.hpp"

namespace tilewright {

// What one batch takes of each operand: of problems of one size in any layout. Matrices of a pointer batch
// lie gpu_pointer_distance() apart; the last block of an interleaved batch is stored whole.
GpuOperandBytes gpu_operand_bytes(const GemmProblem& problem);

// Throws Error(unsupported) naming `argument`, the problem and the bytes when operands of so many bytes do
// not fit the device's memory.
void check_gpu_memory(const char* argument, const GemmProblem& problem, const GpuOperandBytes& bytes,
                      const GpuLimits& limits);

class GpuRing {
 public:
  // `batch` bytes of each operand, which must fit the arena.
  GpuRing(const GpuArena& arena, const GpuOperandBytes& batch);

  std::int64_t batches() const { return batches_; }
  // Addresses of batch `index`, modulo their number.
  Operands at(std::int64_t index) const;

 private:
  const GpuArena& arena_;
  GpuOperandBytes step_;
  std::int64_t batches_ = 1;
};

}  // namespace tilewright
