/// @file
/// The types that every call uses: element types, operations, layouts, views of one matrix and of batches,
/// and Error. Nothing here owns memory or includes a vendor header.
/// @par Units Sizes, leading dimensions, strides and counts are 64-bit and count elements; matrices are
///   column-major.
/// @par Memory Views point at memory of the caller, who keeps it alive for as long as a call uses the view.
/// @par Threads Values of these types may be used by any thread; the functions here share no state.
/// @par Errors The functions throw nothing unless their comment says so.
#pragma once

#include <complex>
#include <concepts>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <type_traits>

struct CUstream_st;  // CUstream and cudaStream_t are pointers to it

namespace tilewright {

// Every type carries the version of the interface in its name, and so does every function that takes one: a
// program built with headers of another version fails to link instead of misreading a struct.
inline namespace v0_2 {

/// The type of the elements: float, double, std::complex<float>, std::complex<double>.
enum class DType : std::uint8_t { f32, f64, c64, c128 };
/// op(X) = X, X transposed, or X transposed and conjugated (BLAS 'N', 'T', 'C').
enum class Op : std::uint8_t { none, trans, conj_trans };
/// The triangle of a matrix that is read and written (BLAS 'L', 'U').
enum class Uplo : std::uint8_t { lower, upper };
/// The side of the unknown matrix on which the triangular one stands (BLAS 'L', 'R').
enum class Side : std::uint8_t { left, right };
/// unit: the diagonal is 1 and is not read (BLAS 'N', 'U').
enum class Diag : std::uint8_t { non_unit, unit };
/// The arrangement of the matrices of a batch in memory.
enum class Layout : std::uint8_t {
  single,
  strided,
  pointer,
  interleaved,
  block_interleaved,
  grouped,
  variable,
};
/// The memory that holds the operands: of the host, or of a GPU.
enum class Location : std::uint8_t { host, device };
/// The processors that may compute.
enum class Target : std::uint8_t { automatic, cpu, gpu, hybrid };
/// The rule that divides a product of host operands among the CPU and the GPUs. model: by the models of the
/// machine. guided and exhaustive: by timing at the first call, around the models' share or over all shares.
/// fixed: the CPU gets the share that the caller states.
enum class SplitRule : std::uint8_t { model, guided, exhaustive, fixed };
/// The reaction to a GPU that fails before it has brought back its part of C. error: the call throws
/// Error(device_lost). redo: the CPU computes that part.
enum class OnDeviceFailure : std::uint8_t { error, redo };
/// Whether plans learn from the calls that a program makes. automatic: as TILEWRIGHT_LEARN says, else off.
/// calls: see GemmOptions::learn.
enum class Learn : std::uint8_t { automatic, off, calls };
/// The cost that a call minimises: seconds, joules, their product, a weighted sum of both, or the least
/// joules among configs that are nearly as fast as the fastest.
enum class Objective : std::uint8_t { time, energy, edp, alpha, energy_within };
/// The arithmetic. full: the precision of the storage throughout. Lower precision is never chosen unasked.
enum class MathMode : std::uint8_t { full };

/// The memory in which the caller expects the operands: `automatic` derives it from the bytes of the call.
enum class Residency : std::uint8_t { automatic, cold, l2, l1 };

/// How calls follow one another. back_to_back: in a loop, whose code and predictors stay warm. idle: one at a
/// time, with other work of the program between them.
enum class Arrival : std::uint8_t { back_to_back, idle };

/// The contents of the info array of a batched call. none: nothing. all: one code per problem. group: one
/// code per group. any: one code for the call.
/// @see Batched BLAS (Dongarra et al. 2017; NLAFET/BBLAS)
enum class InfoMode : std::uint8_t { none, all, group, any };

/// The kind of an Error. The C interface returns the same numbers as tilewright_status.
enum class ErrorCode : int {
  /// No error; no Error has this code.
  ok = 0,
  /// An argument has a value that no call accepts. Error::argument() names it. Nothing was written.
  invalid_argument = 1,
  /// The arguments are valid, but nothing in this build or on this machine serves them. The message lists the
  /// reasons.
  unsupported = 2,
  /// The host or a GPU has too little free memory for the call.
  out_of_memory = 3,
  /// A file could not be read or written. The message names its path and the system's reason.
  io = 4,
  /// The library, a driver or a vendor's library failed in a manner that no argument explains.
  internal = 5,
  /// A GPU failed in the middle of the call. The message names it and the columns or rows of C that were not
  /// computed; the rest of C is complete. The host and other GPUs serve further calls.
  device_lost = 6,
};

/// The only exception that the library throws. what() names the argument, its value and, for batches, the
/// number of the problem.
class Error : public std::runtime_error {
 public:
  /// `argument` is "" if no argument is at fault, `problem_index` -1 if no single problem is.
  /// @throws std::bad_alloc if memory is out.
  Error(ErrorCode code, std::string argument, const std::string& message, std::int64_t problem_index = -1)
      : std::runtime_error(message),
        code_(code),
        argument_(std::move(argument)),
        problem_index_(problem_index) {}

  /// Returns the kind of the error.
  ErrorCode code() const noexcept { return code_; }
  /// Returns the name of the argument at fault, "" if there is none. It lives as long as the Error.
  const std::string& argument() const noexcept { return argument_; }
  /// Returns the number of the problem at fault, counted from 0, or -1.
  std::int64_t problem_index() const noexcept { return problem_index_; }

 private:
  ErrorCode code_;
  std::string argument_;
  std::int64_t problem_index_;
};

/// Throws `error`; in a program compiled without exceptions, prints its message and aborts.
template <class E>
[[noreturn]] void raise(const E& error) {
#if defined(__cpp_exceptions)
  throw error;
#else
  std::fprintf(stderr, "tilewright: %s\n", error.what());
  std::abort();
#endif
}

/// The DType of an element type, as a value: dtype_of<const double> is DType::f64.
template <class T>
struct DTypeOf;
template <>
struct DTypeOf<float> : std::integral_constant<DType, DType::f32> {};
template <>
struct DTypeOf<double> : std::integral_constant<DType, DType::f64> {};
template <>
struct DTypeOf<std::complex<float>> : std::integral_constant<DType, DType::c64> {};
template <>
struct DTypeOf<std::complex<double>> : std::integral_constant<DType, DType::c128> {};
template <class T>
inline constexpr DType dtype_of = DTypeOf<std::remove_const_t<T>>::value;

/// Returns the bytes of an element; 0 for a value that is not a DType.
constexpr std::int64_t size_bytes(DType t) {
  switch (t) {
    case DType::f32:
      return 4;
    case DType::f64:
      return 8;
    case DType::c64:
      return 8;
    case DType::c128:
      return 16;
  }
  return 0;
}
/// Returns true for c64 and c128.
constexpr bool is_complex(DType t) { return t == DType::c64 || t == DType::c128; }

/// One column-major matrix of rows x cols elements as stored (before op): element (i, j) lies at data[j * ld
/// + i]. column_major() makes one from sizes of any integer type. For matrices by rows, and of any strides,
/// there are the views of tilewright/strided.hpp.
template <class T, Location L = Location::host>
struct MatrixView {
  T* data = nullptr;
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::int64_t ld = 0;

  operator MatrixView<const T, L>() const requires(!std::is_const_v<T>) { return {data, rows, cols, ld}; }
};

/// Returns the view of a column-major matrix of rows x cols elements at `data`. Columns lie `ld` elements
/// apart, max(1, rows) without it. Sizes may be of any integer type. column_major<Location::device>(...)
/// describes device memory.
template <Location L = Location::host, class T, std::integral Rows, std::integral Cols, std::integral Ld>
constexpr MatrixView<T, L> column_major(T* data, Rows rows, Cols cols, Ld ld) {
  return {data, static_cast<std::int64_t>(rows), static_cast<std::int64_t>(cols),
          static_cast<std::int64_t>(ld)};
}
template <Location L = Location::host, class T, std::integral Rows, std::integral Cols>
constexpr MatrixView<T, L> column_major(T* data, Rows rows, Cols cols) {
  return column_major<L>(data, rows, cols, rows > Rows(1) ? rows : Rows(1));
}

/// `count` matrices at equal distance: matrix p begins at data + p * stride. Stride 0 broadcasts one matrix
/// (A or B only). strided_batch() makes one; repeat() adds a level around it, as contractions of tensors have
/// them, up to two: matrix (h, i, j) of outermost_count * outer_count * count begins at data + h *
/// outermost_stride + i * outer_stride + j * stride, and problems are numbered with j fastest.
template <class T, Location L = Location::host>
struct StridedBatch {
  T* data = nullptr;
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::int64_t ld = 0;
  std::int64_t stride = 0;
  std::int64_t count = 0;
  std::int64_t outer_count = 1;
  std::int64_t outer_stride = 0;
  std::int64_t outermost_count = 1;
  std::int64_t outermost_stride = 0;

  constexpr StridedBatch() = default;
  /// Makes a batch of one level.
  constexpr StridedBatch(const MatrixView<T, L>& first, std::int64_t matrix_stride, std::int64_t matrix_count)
      : data(first.data),
        rows(first.rows),
        cols(first.cols),
        ld(first.ld),
        stride(matrix_stride),
        count(matrix_count) {}

  /// Returns this batch `part_count` times, `part_stride` elements apart.
  /// @throws Error invalid_argument for a third level: views of tilewright/strided.hpp have any number.
  template <std::integral Stride, std::integral Count>
  constexpr StridedBatch repeat(Stride part_stride, Count part_count) const {
    StridedBatch more = *this;
    if (more.outer_count == 1) {
      more.outer_stride = static_cast<std::int64_t>(part_stride);
      more.outer_count = static_cast<std::int64_t>(part_count);
    } else if (more.outermost_count == 1) {
      more.outermost_stride = static_cast<std::int64_t>(part_stride);
      more.outermost_count = static_cast<std::int64_t>(part_count);
    } else {
      raise(Error(ErrorCode::invalid_argument, "repeat",
                  "a StridedBatch is repeated at most twice; a StridedView has any number of levels"));
    }
    return more;
  }

  constexpr operator StridedBatch<const T, L>() const requires(!std::is_const_v<T>) {
    StridedBatch<const T, L> same({data, rows, cols, ld}, stride, count);
    same.outer_count = outer_count, same.outer_stride = outer_stride;
    same.outermost_count = outermost_count, same.outermost_stride = outermost_stride;
    return same;
  }
};

/// Returns a batch of `count` matrices like `first`, which is the first of them, each `stride` elements
/// behind the one before it.
template <class T, Location L, std::integral Stride, std::integral Count>
constexpr StridedBatch<T, L> strided_batch(const MatrixView<T, L>& first, Stride stride, Count count) {
  return {first, static_cast<std::int64_t>(stride), static_cast<std::int64_t>(count)};
}

/// `count` matrices anywhere: matrix p begins at data[p]. The array of pointers lies in the same memory as
/// the matrices.
template <class T, Location L = Location::host>
struct PointerBatch {
  T* const* data = nullptr;
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::int64_t ld = 0;
  std::int64_t count = 0;

  operator PointerBatch<const T, L>() const requires(!std::is_const_v<T>) {
    return {data, rows, cols, ld, count};
  }
};

/// A block-interleaved batch: within a block of `block` problems, equal elements are neighbours. Element (i,
/// j) of problem p lies at data[(p / block) * block * ld * cols + (j * ld + i) * block + p % block]. block ==
/// count is the fully interleaved layout. The last block is stored whole: unused slots are padding that
/// kernels may read and rewrite.
/// @see Dongarra et al. 2017, section 4
template <class T, Location L = Location::host>
struct InterleavedBatch {
  T* data = nullptr;
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::int64_t ld = 0;
  std::int64_t block = 0;
  std::int64_t count = 0;

  operator InterleavedBatch<const T, L>() const requires(!std::is_const_v<T>) {
    return {data, rows, cols, ld, block, count};
  }
};

/// One group of a grouped batch: `count` problems of one shape, each with its own pointers. A variable batch
/// is a sequence of groups with count 1.
template <class T, Location L = Location::host>
struct GemmGroup {
  Op op_a = Op::none;
  Op op_b = Op::none;
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  T alpha = T(1);
  const T* const* a = nullptr;
  std::int64_t lda = 0;
  const T* const* b = nullptr;
  std::int64_t ldb = 0;
  T beta = T(0);
  T* const* c = nullptr;
  std::int64_t ldc = 0;
  std::int64_t count = 0;
};

/// One problem of a variable batch, which has its own shape, scalars and matrices.
template <class T, Location L = Location::host>
struct GemmItem {
  Op op_a = Op::none;
  Op op_b = Op::none;
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  T alpha = T(1);
  const T* a = nullptr;
  std::int64_t lda = 0;
  const T* b = nullptr;
  std::int64_t ldb = 0;
  T beta = T(0);
  T* c = nullptr;
  std::int64_t ldc = 0;
};

}  // namespace v0_2
}  // namespace tilewright
