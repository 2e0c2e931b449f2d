/// @file
/// GemmProblem describes WHAT is multiplied, never how: shapes, operations, storage, and the classes of alpha
/// and beta; LuProblem describes what is factored. They hold no pointers, so a plan made for a problem serves
/// all operands with that description.
/// @par Units Sizes, leading dimensions and strides count elements.
/// @par Threads The functions may be called by any thread at any time.
/// @par Errors flops(), bytes() and to_string() throw nothing but std::bad_alloc; other functions throw Error
///   as their comment says.
#pragma once

#include "tilewright/types.hpp"

namespace tilewright {
inline namespace v0_2 {

/// The class of alpha or beta that a plan is made for. zero, one: this value. general: one value for all
/// problems, known at each run. per_problem: an array with a value for each problem, which lies where the
/// operands do. A plan on the host serves general and per_problem alike; on a GPU they differ.
enum class Scalar : std::uint8_t { zero, one, general, per_problem };

/// The products of a batch that are accumulated into one C. none: each product has its own C. batch_reduce:
/// all of them have one C (strided or pointer batches). stack: products with equal addresses of C, wherever
/// they stand in the batch (pointer batches).
/// @see batch-reduce GEMM (Georganas et al. 2020); DBCSR (Borstnik et al. 2014)
enum class Accumulate : std::uint8_t { none, batch_reduce, stack };

/// A product or a batch of products, without data.
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
  std::int64_t block = 0;     ///< problems per block of an interleaved batch, else 0
  std::int64_t stride_a = 0;  ///< elements between problems of a strided batch; 0 broadcasts A
  std::int64_t stride_b = 0;  ///< likewise for B
  std::int64_t stride_c = 0;  ///< likewise for C; never 0 for more than one problem
  std::int64_t batch_count = 1;
  /// Levels around that of a strided batch, for strides within strides: problem p = (h * outer_count + i) *
  /// inner + j, where inner = batch_count / (outermost_count * outer_count), has its A at h * outermost_a + i
  /// * outer_a + j * stride_a. Strides of A and B may be 0 at any level.
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
  Arrival arrival = Arrival::back_to_back;  ///< idle: plans use, and tune() makes, records of isolated calls
  Location location = Location::host;
  Accumulate sums = Accumulate::none;
  std::int64_t run = 1;  ///< of a stack: about how many products each C gets

  /// Return the stored rows and columns of A and B, before op.
  std::int64_t a_rows() const { return op_a == Op::none ? m : k; }
  std::int64_t a_cols() const { return op_a == Op::none ? k : m; }
  std::int64_t b_rows() const { return op_b == Op::none ? k : n; }
  std::int64_t b_cols() const { return op_b == Op::none ? n : k; }

  friend bool operator==(const GemmProblem&, const GemmProblem&) = default;
};

/// The m x n matrix of a factorization P A = L U (lu.hpp), without data.
struct LuProblem {
  DType dtype = DType::f64;
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t lda = 0;
  Location location = Location::host;

  friend bool operator==(const LuProblem&, const LuProblem&) = default;
};

}  // namespace v0_2

/// Returns the floating-point operations of the whole batch: 2 m n k each (real), 8 m n k (complex).
double flops(const GemmProblem& problem);

/// Returns the bytes that must move: A and B once, C written once and, if beta != 0, read once; broadcast
/// operands count once.
double bytes(const GemmProblem& problem);

/// Returns the canonical text, e.g. "gemm_batched:f64:nn:m=8,n=8,k=8:strided:batch=1000000". Fields that have
/// their packed or default value are left out. docs/problem.md describes the grammar.
std::string to_string(const GemmProblem& problem);

/// Reads such a text.
/// @throws Error invalid_argument naming the part that could not be read.
GemmProblem parse_problem(const std::string& text);

/// Returns the problem with zeros filled in: lda, ldb and ldc with the packed leading dimensions, the strides
/// of a strided batch with ld * columns, and those of an outer level with the extent of the level within.
/// Broadcast operands must therefore be marked after the call. Strides beyond 64 bits become the largest
/// number, which plans refuse. It throws nothing.
GemmProblem packed(GemmProblem problem);

/// Returns the floating-point operations, multiplications and additions: m n^2 - n^3 / 3 for m >= n, with m
/// and n swapped for wide matrices; four times as many for complex elements.
double flops(const LuProblem& problem);

/// Returns the canonical text, e.g. "lu:f64:m=1000,n=1000", with ":lda=1008" if columns are padded and
/// ":location=device".
std::string to_string(const LuProblem& problem);

/// Reads such a text.
/// @throws Error invalid_argument naming the part that could not be read.
LuProblem parse_lu_problem(const std::string& text);

}  // namespace tilewright
