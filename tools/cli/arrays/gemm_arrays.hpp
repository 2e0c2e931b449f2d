// Converts NumPy arrays to operands of one GemmProblem. A row-major matrix is the transpose of a column-major
// one, so every mix of orders is expressed by swapping operands and ops, and arrays are copied only where no
// kernel can read them in place.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "arrays/npy.hpp"
#include "tilewright/problem.hpp"

namespace tilewright::cli {

// The memory layout of the elements (b, i, j) of an array. interleaved: a 3-D Fortran-order array, equal
// elements of all problems adjacent.
enum class Order : std::uint8_t { row_major, column_major, interleaved };

// A 2-D array is a batch of one that any batch may share.
struct ArrayShape {
  bool is_batch = false;
  std::int64_t batch = 1;
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  Order order = Order::row_major;

  std::int64_t count() const { return batch * rows * cols; }
  std::array<std::int64_t, 3> strides() const;  // in elements, of (b, i, j)
};

// Throws Error(invalid_argument) if the array is neither 2-D nor 3-D.
ArrayShape array_shape(const NpyHeader& header, const std::string& argument, const std::string& what);

struct ArrayInfo {
  ArrayShape shape;
  DType dtype = DType::f64;
  std::string what;  // "A = 'A.npy'"
};

struct Arrangement {
  GemmProblem problem;   // the caller sets alpha, beta and residency
  bool swapped = false;  // the kernel computes C^T = op(B)^T op(A)^T: its A is B and its B is A
  ArrayShape a;          // as the kernel reads it; its order differs from the file's if a copy is needed
  ArrayShape b;
  ArrayShape c;
  bool copy_a = false;
  bool copy_b = false;
  std::vector<std::string> notes;  // the decisions, in sentences for --explain

  std::vector<std::int64_t> c_shape() const;
};

// Checks dtypes and shapes (Error(invalid_argument) naming the array) and decides how to multiply. `c0` is
// only checked.
Arrangement arrange(const ArrayInfo& a, const ArrayInfo& b, const std::optional<ArrayInfo>& c0, Op op_a,
                    Op op_b);

// Copies all elements between two arrays of the same rows and cols; a source without batch is repeated.
void copy_array(DType dtype, const void* from, const ArrayShape& from_shape, void* to,
                const ArrayShape& to_shape, int threads);

// A long multiplication cut into pieces of about half a second, so that its progress can be shown. Short ones
// stay whole, and so do interleaved batches, whose one block cannot be cut.

// A part of a problem and where its operands begin, in elements from those of the whole.
struct Piece {
  GemmProblem problem;
  std::int64_t a_offset = 0;
  std::int64_t b_offset = 0;
  std::int64_t c_offset = 0;
};

// `seconds` is the expected time of the whole. Batches are cut into runs of problems, single products into
// columns of C.
std::vector<Piece> cut_into_pieces(const GemmProblem& problem, double seconds);

}  // namespace tilewright::cli
