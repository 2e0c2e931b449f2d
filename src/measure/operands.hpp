// The operands of a measured case: as many batches as its residency requires, carved out of an arena, with
// the arrays of pointers that pointer batches need.
#pragma once

#include <vector>

#include "core/problem.hpp"
#include "measure/buffers.hpp"
#include "measure/streaming.hpp"
#include "tilewright/allocate.hpp"

namespace tilewright {

// The order in which the pointers of a pointer batch visit the matrices in memory.
enum class PointerOrder : std::uint8_t { sequential, random };
TILEWRIGHT_NAMES(PointerOrder, "sequential", "random");

inline constexpr double cold_bytes = double(std::int64_t{1} << 30);  // operands of all batches of a cold case
inline constexpr double l2_bytes = 512.0 * 1024;
inline constexpr double l1_bytes = 24.0 * 1024;

// Returns how many problems like `problem` make one batch: as many as fit the cache (at least one), or some
// 32 MiB when cold; whole blocks for interleaved layouts.
std::int64_t default_batch_count(GemmProblem problem, Residency residency);

class OperandSet {
 public:
  // Bytes of A and B together, and of C, that a set takes from an arena.
  struct Extent {
    std::int64_t input_bytes = 0;
    std::int64_t output_bytes = 0;
  };
  static Extent extent(const GemmProblem& problem, std::int64_t batches);

  // Carves `batches` batches out of the arena. Sets of one arena share their bytes. An arena that is too
  // small grows and moves, which invalidates other sets, so prepare it for all sets first.
  OperandSet(Arena& arena, const GemmProblem& problem, std::int64_t batches, Data data = Data::uniform,
             PointerOrder order = PointerOrder::sequential);
  // Allocates every operand of every batch separately, placed on NUMA nodes.
  OperandSet(Placement placement, int threads, const GemmProblem& problem, std::int64_t batches,
             Data data = Data::uniform, PointerOrder order = PointerOrder::sequential);

  const GemmProblem& problem() const noexcept { return problem_; }
  std::int64_t batches() const noexcept { return batches_; }

  // Returns the addresses of one batch; the caller sets the scalars.
  Operands batch(std::int64_t index) const;

  // Returns the streams over the bytes that `count` batches from `first` on must move; placed: count = 1.
  StreamOperands streams(std::int64_t first, std::int64_t count) const;

 private:
  struct Matrix {
    std::vector<std::byte*> starts;  // of each batch
    std::vector<void*> pointers;     // pointer batches: of each problem of each batch
  };
  void set_pointers(PointerOrder order);

  GemmProblem problem_;
  std::int64_t batches_;
  Matrix operands_[3];  // A, B, C
  std::vector<BatchBuffer> placed_;
};

// Returns the number of batches that together hold at least `ring_bytes` (cold; of isolated calls enough of
// them), or one per thread (l2, l1).
std::int64_t batches_for(const GemmProblem& problem, Residency residency, int threads,
                         double ring_bytes = cold_bytes);

// Layout of one operand, in elements from its address: element (i, j) of matrix q as stored.
struct StoredOperand {
  std::int64_t rows = 0, columns = 0;
  std::int64_t row_step = 1, column_step = 0;  // to the next row, to the next column
  std::int64_t block = 1, step = 0;            // matrix q begins at first + q / block * step + q % block
  std::int64_t first = 0;

  std::int64_t at(std::int64_t q, std::int64_t i, std::int64_t j) const {
    return first + q / block * step + q % block + i * row_step + j * column_step;
  }
};
// Returns the layout of operand 0 (A), 1 (B) or 2 (C); pointers: an address per matrix.
StoredOperand stored_operand(const GemmProblem& problem, int operand);

}  // namespace tilewright
