// GemmProblem says WHAT is multiplied, never how: shapes, operations, storage, and the classes of alpha and
// beta. It holds no pointers, so a plan made for a problem serves every set of operands with that
// description.
#pragma once

#include "tilewright/types.hpp"

namespace tilewright {

// The values of alpha and beta that kernels are specialised for.
enum class Scalar : std::uint8_t { zero, one, general };

// Which products of a batch are summed into one C: none, each has its own; batch_reduce, all of them (strided
// or pointer batches); stack, those with equal addresses of C, wherever they stand in the batch (pointer
// batches).
enum class Sums : std::uint8_t { none, batch_reduce, stack };

struct GemmProblem {
  DType dtype = DType::f64;
  Op op_a = Op::none;
  Op op_b = Op::none;
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  std::int64_t lda = 0;
  std::int64_t ldb = 0;
  std::int64_t ldc = 0;
  Layout layout = Layout::single;
  std::int64_t block = 0;     // problems per block of an interleaved batch, else 0
  std::int64_t stride_a = 0;  // elements between problems of a strided batch; 0 broadcasts A
  std::int64_t stride_b = 0;  // likewise for B
  std::int64_t stride_c = 0;  // likewise for C; never 0 for more than one problem
  std::int64_t batch_count = 1;
  Scalar alpha = Scalar::one;
  Scalar beta = Scalar::zero;
  Residency residency = Residency::automatic;
  Location location = Location::host;
  Sums sums = Sums::none;
  std::int64_t run = 1;  // of a stack: how many products a C gets, about

  // Stored rows and columns of A and B, before op.
  std::int64_t a_rows() const { return op_a == Op::none ? m : k; }
  std::int64_t a_cols() const { return op_a == Op::none ? k : m; }
  std::int64_t b_rows() const { return op_b == Op::none ? k : n; }
  std::int64_t b_cols() const { return op_b == Op::none ? n : k; }

  friend bool operator==(const GemmProblem&, const GemmProblem&) = default;
};

// Floating-point operations of the whole batch: 2 m n k each (real), 8 m n k (complex).
double flops(const GemmProblem& problem);

// Bytes that must move: A and B once, C once written and, when beta != 0, once read; broadcast operands count
// once.
double bytes(const GemmProblem& problem);

// The canonical text, e.g. "gemm_batched:f64:nn:m=8,n=8,k=8:strided:batch=1000000", and its reverse. Fields
// that have their packed or default value are left out. parse throws Error naming the part it could not read.
std::string to_string(const GemmProblem& problem);
GemmProblem parse_problem(const std::string& text);

// Fills lda, ldb, ldc (when 0) with the packed leading dimensions and the strides of a strided batch (when 0)
// with ld * columns. Broadcast operands must therefore be marked after the call.
GemmProblem packed(GemmProblem problem);

}  // namespace tilewright
