// GemmProblem says WHAT is multiplied, never how: shapes, operations, storage, and the classes of alpha and
// beta; LuProblem what is factored. They hold no pointers, so a plan made for a problem serves every set of
// operands with that description.
#pragma once

#include "tilewright/types.hpp"

namespace tilewright {
inline namespace v0_2 {

// The values of alpha and beta that kernels are specialised for.
enum class Scalar : std::uint8_t { zero, one, general };

// Says which products of a batch are summed into one C: none, each has its own; batch_reduce, all of them
// (strided or pointer batches); stack, those with equal addresses of C, wherever they stand in the batch
// (pointer batches).
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
  // Levels around that of a strided batch, for strides within strides: problem p = (h * outer_count + i) *
  // inner + j, where inner = batch_count / (outermost_count * outer_count), has its A at h * outermost_a + i
  // * outer_a + j * stride_a. Strides of A and B may be 0 at any level.
  std::int64_t outer_count = 1;
  std::int64_t outer_a = 0;
  std::int64_t outer_b = 0;
  std::int64_t outer_c = 0;
  std::int64_t outermost_count = 1;
  std::int64_t outermost_a = 0;
  std::int64_t outermost_b = 0;
  std::int64_t outermost_c = 0;
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

// The matrix of a factorization P A = L U (lu.hpp), without its data.
struct LuProblem {
  DType dtype = DType::f64;
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t lda = 0;
  Location location = Location::host;

  friend bool operator==(const LuProblem&, const LuProblem&) = default;
};

}  // namespace v0_2

// Floating-point operations of the whole batch: 2 m n k each (real), 8 m n k (complex).
double flops(const GemmProblem& problem);

// Bytes that must move: A and B once, C once written and, when beta != 0, once read; broadcast operands count
// once.
double bytes(const GemmProblem& problem);

// The canonical text, e.g. "gemm_batched:f64:nn:m=8,n=8,k=8:strided:batch=1000000", and its reverse. Fields
// that have their packed or default value are left out. parse throws Error naming the part it could not read.
std::string to_string(const GemmProblem& problem);
GemmProblem parse_problem(const std::string& text);

// Fills lda, ldb, ldc (when 0) with the packed leading dimensions, the strides of a strided batch (when 0)
// with ld * columns, and those of a level around others (when 0) with what these take. Broadcast operands
// must therefore be marked after the call.
GemmProblem packed(GemmProblem problem);

// Floating-point operations, multiplications and additions: m n^2 - n^3 / 3 for m >= n, with m and n swapped
// for wide matrices; four times as many for complex elements.
double flops(const LuProblem& problem);

// The canonical text, e.g. "lu:f64:m=1000,n=1000", with ":lda=1008" where columns are padded and
// ":location=device", and its reverse. parse throws Error naming the part it could not read.
std::string to_string(const LuProblem& problem);
LuProblem parse_lu_problem(const std::string& text);

}  // namespace tilewright
