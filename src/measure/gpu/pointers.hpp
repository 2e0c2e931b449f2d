// Arrays of addresses in device memory for batches that are measured: of matrices behind the base addresses
// of a batch, at its strides or, in a pointer batch, at gpu_pointer_distance(), in any order. No elements are
// moved.
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

// Returns where an operand's matrices lie behind the base address of its batch, also for a pointer batch.
StoredOperand gpu_stored_operand(const GemmProblem& problem, int operand);

class GpuPointers {
 public:
  // Makes arrays for `batches` batches; at(i) returns the base addresses of batch i. Problem q of each has
  // the matrices number order[q] of A, B and C; in sums, the C of its run.
  GpuPointers(const Gpu& gpu, const GemmProblem& problem, std::int64_t batches,
              const std::function<Operands(std::int64_t)>& at, std::span<const std::int64_t> order);

  // Returns the arrays of batch `index`, modulo their number, as a pointer batch's operands.
  Operands at(std::int64_t index) const;

 private:
  std::int64_t batches_, count_;
  std::vector<GpuBuffer> arrays_;
};

// Returns 0 to count - 1: in order, or in the same shuffled order in every run.
std::vector<std::int64_t> pointer_order(std::int64_t count, bool shuffled);

}  // namespace tilewright
