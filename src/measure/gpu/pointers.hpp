// Arrays of addresses in device memory for batches that are measured: matrices behind the base addresses of a
// batch, at its strides or, of a pointer batch, at gpu_pointer_distance(), taken in any order. It moves no
// elements.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "core/problem.hpp"
#include "device/gpu/gpu.hpp"
#include "measure/operands.hpp"

namespace tilewright {

// Where an operand lies behind the base address of its batch, a pointer batch too.
StoredOperand gpu_stored_operand(const GemmProblem& problem, int operand);

class GpuPointers {
 public:
  // For `batches` batches, of which at(i) gives the base addresses of batch i: problem q of each has the
  // matrices number order[q] of A, B and C; of sums the C of its run.
  GpuPointers(const Gpu& gpu, const GemmProblem& problem, std::int64_t batches,
              const std::function<Operands(std::int64_t)>& at, std::span<const std::int64_t> order);

  // The arrays of a batch, modulo their number, as a pointer batch's operands.
  Operands at(std::int64_t index) const;

 private:
  std::int64_t batches_, count_;
  std::vector<GpuBuffer> arrays_;
};

// 0 to count - 1: in order, or the same shuffle in every run.
std::vector<std::int64_t> pointer_order(std::int64_t count, bool shuffled);

}  // namespace tilewright
