// The device memory that measured cases share: three operands filled with random values that the host knows,
// the ring of batches that lie in them, and arrays of the addresses of their matrices.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "core/problem.hpp"
#include "device/gpu/gpu.hpp"
#include "measure/buffers.hpp"
#include "measure/operands.hpp"

namespace tilewright {

// The bytes of each operand.
struct GpuOperandBytes {
  std::size_t a = 0, b = 0, c = 0;
};

class GpuArena {
 public:
  GpuArena(const Gpu& gpu, std::size_t operand_bytes);

  // Makes each operand at least this large. One that grows loses its contents; its old addresses are invalid.
  void reserve(const GpuOperandBytes& bytes);

  // Fills all operands with random values of the type; does nothing if they hold these already.
  void fill(DType dtype, Data kind = Data::uniform);
  // Returns the real number that fill() wrote at `index`, counted in reals, of operand 0 (A), 1 (B) or 2 (C).
  double real_at(int operand, std::int64_t index) const;

  const Gpu& gpu() const { return gpu_; }
  std::size_t operand_bytes() const;  // of the smallest
  const GpuOperandBytes& bytes() const { return bytes_; }
  void* a() const { return operands_[0]->as<void>(); }
  void* b() const { return operands_[1]->as<void>(); }
  void* c() const { return operands_[2]->as<void>(); }
  // operand_bytes() of zeros, which streaming loops write instead of C: their results are not valid numbers.
  void* streamed_c();

 private:
  const Gpu& gpu_;
  GpuOperandBytes bytes_;
  std::optional<GpuBuffer> operands_[3], streamed_c_;
  std::optional<std::pair<DType, Data>> filled_;
  std::vector<double> wide_[3];  // one period of each operand; only those of the current type are filled
  std::vector<float> narrow_[3];
};

// Returns the bytes that one batch takes of each operand, for problems of one size in any layout. Matrices of
// a pointer batch lie gpu_pointer_distance() apart; the last block of an interleaved batch is stored whole.
GpuOperandBytes gpu_operand_bytes(const GemmProblem& problem);

// Throws Error(unsupported) naming `argument`, the problem and the bytes if these operands do not fit.
void check_gpu_memory(const char* argument, const GemmProblem& problem, const GpuOperandBytes& bytes,
                      const GpuLimits& limits);

// Batches of one problem that follow each other through an arena, so that a launch finds nothing in a cache.
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

// Returns where an operand's matrices lie behind the base address of its batch, also for a pointer batch.
StoredOperand gpu_stored_operand(const GemmProblem& problem, int operand);

// Arrays of addresses in device memory: of the matrices behind the base addresses of measured batches, in any
// order.
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
