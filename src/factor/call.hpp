// A batched factorization or solve, of any element type, as its candidates run it.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "core/fields.hpp"
#include "kernel/factor_cpu/kernel.hpp"
#include "tilewright/context.hpp"
#include "tilewright/factor.hpp"

namespace tilewright {

TILEWRIGHT_NAMES(Uplo, "lower", "upper");
TILEWRIGHT_NAMES(Side, "left", "right");
TILEWRIGHT_NAMES(Diag, "non_unit", "unit");
TILEWRIGHT_NAMES(Pivoting, "partial", "none");

// A batch of matrices without its type; distances count elements.
struct FactorOperand {
  const char* name = "";  // as the caller knows it
  char* data = nullptr;
  void* const* pointers = nullptr;
  std::int64_t rows = 0, cols = 0, row_stride = 1, col_stride = 1, block = 0;
  std::size_t level_count = 0;
  MatrixBatch<char>::Level levels[MatrixBatch<char>::most_levels] =
      {};  // NOLINT: level_count of them are set
  std::int64_t element_bytes = 0;

  std::int64_t count() const;
  // Returns where problem p begins; of an interleaved batch, its slot of element (0, 0).
  char* address(std::int64_t p) const;
  // Writes the addresses of problems [first, first + count).
  void addresses(std::int64_t first, std::int64_t count, const void** to) const;
  // The distance between neighbours in a column and in a row, in elements.
  std::int64_t row_step() const { return row_stride * (block > 0 ? block : 1); }
  std::int64_t col_step() const { return col_stride * (block > 0 ? block : 1); }
};

// Numbers that belong to each problem, one problem after the other: determinants, the tau of reflectors,
// eigenvalues or singular values.
struct FactorValues {
  const char* name = "";  // as the caller knows them
  char* out = nullptr;
  const char* in = nullptr;
  std::int64_t count = 0, bytes = 0;  // of a problem; of a number

  std::int64_t problem_bytes() const { return count * bytes; }
};

// The computation of a call, and its operands. In-place routines have their matrix in `a`.
struct FactorWork {
  LaneShape shape;
  std::int64_t count = 0;
  FactorOperand a, b, c;
  bool writes_a = false, has_b = false, has_c = false;
  int* pivots_out = nullptr;
  const int* pivots_in = nullptr;
  FactorValues values;
  const void* alpha = nullptr;
  BatchInfo info;
  Location location = Location::host;  // of all of it but alpha
  Queue queue;                         // of work on a GPU

  std::int64_t steps() const { return shape.m < shape.n ? shape.m : shape.n; }
  std::int64_t element_bytes() const { return size_bytes(shape.dtype); }
  // B is only written: the inverse, vectors, or the factor of potrf that keeps A.
  bool makes_b() const {
    return shape.routine == Routine::inv || shape.routine == Routine::syev ||
           shape.routine == Routine::gesvd || makes_factor();
  }
  bool makes_factor() const { return shape.routine == Routine::potrf && has_b; }
};

// Throws Error(invalid_argument) for the first fault. `pivot_places` and `value_places` are what the caller
// provides.
void validate_factor(const FactorWork& work, std::size_t pivot_places, std::size_t value_places,
                     const FactorOptions& options);

// The infos of a call, from all its threads.
class FactorInfo {
 public:
  explicit FactorInfo(const BatchInfo& to) : to_(to) {}
  ~FactorInfo();
  FactorInfo(const FactorInfo&) = delete;
  FactorInfo& operator=(const FactorInfo&) = delete;

  // Records the infos of problems [first, first + count).
  void put(std::int64_t first, std::int64_t count, const int* infos);

 private:
  BatchInfo to_;
  std::int64_t problem_ = -1;  // the first that has an info, guarded by lock_
  int code_ = 0;
  std::atomic_flag lock_;
};

}  // namespace tilewright
