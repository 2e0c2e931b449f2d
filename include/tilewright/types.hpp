// The words of the public surface: element types, operations, layouts, views of one matrix and of batches,
// and Error. Nothing here owns memory or includes a vendor header. All sizes, leading dimensions and strides
// are 64-bit and count elements; matrices are column-major.
#pragma once

#include <complex>
#include <concepts>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <type_traits>

struct CUstream_st;  // what a CUstream and a cudaStream_t point to

namespace tilewright {

// Every type carries the version of the interface in its name, and so does every function that takes one:
// programs built with headers of another version do not link instead of misreading a struct.
inline namespace v0_2 {

enum class DType : std::uint8_t { f32, f64, c64, c128 };
enum class Op : std::uint8_t { none, trans, conj_trans };
enum class Layout : std::uint8_t {
  single,
  strided,
  pointer,
  interleaved,
  block_interleaved,
  grouped,
  variable,
};
enum class Location : std::uint8_t { host, device };
enum class Target : std::uint8_t { automatic, cpu, gpu, hybrid };
// The rule by which a product of host operands is shared out among the CPU and the GPUs: by the models of the
// machine; by timing, at the first call, from the models' share on or all shares; or with a share of the
// CPU's as asked.
enum class SplitWay : std::uint8_t { model, guided, exhaustive, fixed };
// If a GPU fails before it has brought back its part of C, the call throws, or the CPU
// computes that part.
enum class OnDeviceFailure : std::uint8_t { error, redo };
// The cost that a call should minimise: seconds, joules, their product, a weighted sum of both, or the least
// joules among what is nearly as fast as the fastest.
enum class Objective : std::uint8_t { time, energy, edp, alpha, energy_within };
enum class MathMode : std::uint8_t {
  full
};  // storage precision throughout; lower precision is never chosen unasked

// The memory in which the caller expects the operands: `automatic` derives it from the bytes of the call.
enum class Residency : std::uint8_t { automatic, cold, l2, l1 };

// Batched BLAS error reporting (Dongarra 2017; NLAFET/BBLAS): what the info array of a batched call receives.
// none: nothing is reported; all: one code per problem; group: one per group; any: one code for the call.
enum class InfoMode : std::uint8_t { none, all, group, any };

enum class ErrorCode : int {
  // No error; no Error has this code.
  ok = 0,
  // An argument has a value that no call takes. Error::argument() names it. Nothing was written.
  invalid_argument = 1,
  // The arguments make sense, but nothing in this build or on this machine serves them. The message lists
  // why.
  unsupported = 2,
  // The host or a GPU has no memory left for what the call needs.
  out_of_memory = 3,
  // A file could not be read or written. The message names its path and the system's reason.
  io = 4,
  // The library, a driver or a vendor's library failed in a way that no argument explains.
  internal = 5,
  // A GPU failed in the middle of the call. The message names it and the columns or rows of C that were not
  // computed; the rest of C is complete. The host and other GPUs serve further calls.
  device_lost = 6,
};

// The only exception the library throws. what() names the argument, its value and, for batches, the problem's
// number.
class Error : public std::runtime_error {
 public:
  Error(ErrorCode code, std::string argument, const std::string& message, std::int64_t problem_index = -1)
      : std::runtime_error(message),
        code_(code),
        argument_(std::move(argument)),
        problem_index_(problem_index) {}

  ErrorCode code() const noexcept { return code_; }
  const std::string& argument() const noexcept { return argument_; }  // "" when no argument is at fault
  std::int64_t problem_index() const noexcept {
    return problem_index_;
  }  // -1 when no single problem is at fault

 private:
  ErrorCode code_;
  std::string argument_;
  std::int64_t problem_index_;
};

// Throws; in a program compiled without exceptions, says the message and aborts.
template <class E>
[[noreturn]] void raise(const E& error) {
#if defined(__cpp_exceptions)
  throw error;
#else
  std::fprintf(stderr, "tilewright: %s\n", error.what());
  std::abort();
#endif
}

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
constexpr bool is_complex(DType t) { return t == DType::c64 || t == DType::c128; }

// One column-major matrix of rows x cols elements as stored (before op); element (i, j) lies at data[j * ld +
// i]. column_major() below makes one from sizes of any integer type. Matrices by rows, and of any strides,
// are the views of tilewright/strided.hpp.
template <class T, Location L = Location::host>
struct MatrixView {
  T* data = nullptr;
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::int64_t ld = 0;

  operator MatrixView<const T, L>() const requires(!std::is_const_v<T>) { return {data, rows, cols, ld}; }
};

// The column-major matrix of rows x cols elements at `data`, whose columns are `ld` elements apart; packed
// without it. Sizes may be of any integer type. column_major<Location::device>(...) describes device memory.
template <Location L = Location::host, class T, std::integral Rows, std::integral Cols, std::integral Ld>
constexpr MatrixView<T, L> column_major(T* data, Rows rows, Cols cols, Ld ld) {
  return {data, static_cast<std::int64_t>(rows), static_cast<std::int64_t>(cols),
          static_cast<std::int64_t>(ld)};
}
template <Location L = Location::host, class T, std::integral Rows, std::integral Cols>
constexpr MatrixView<T, L> column_major(T* data, Rows rows, Cols cols) {
  return column_major<L>(data, rows, cols, rows > Rows(1) ? rows : Rows(1));
}

// `count` matrices at equal distance: matrix p begins at data + p * stride. stride 0 broadcasts one matrix (A
// or B only). strided_batch() makes one; repeat() puts a level around it, as contractions of tensors have
// them, up to two: matrix (h, i, j) of outermost_count * outer_count * count begins at data + h *
// outermost_stride + i * outer_stride + j * stride, and j runs fastest where problems are numbered.
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
  constexpr StridedBatch(const MatrixView<T, L>& first, std::int64_t matrix_stride, std::int64_t matrix_count)
      : data(first.data),
        rows(first.rows),
        cols(first.cols),
        ld(first.ld),
        stride(matrix_stride),
        count(matrix_count) {}

  // This batch `part_count` times, `part_stride` elements apart. Throws Error(invalid_argument) for a third
  // level: views of tilewright/strided.hpp have any number.
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

// `count` matrices like `first`, which is the first of them, each `stride` elements behind the one before it.
template <class T, Location L, std::integral Stride, std::integral Count>
constexpr StridedBatch<T, L> strided_batch(const MatrixView<T, L>& first, Stride stride, Count count) {
  return {first, static_cast<std::int64_t>(stride), static_cast<std::int64_t>(count)};
}

// count matrices anywhere: matrix p begins at data[p]. The array of pointers lives where the matrices live.
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

// Block-interleaved batch (Dongarra 2017, section 4): within a block of `block` problems, equal elements are
// neighbours. Element (i, j) of problem p lies at data[(p / block) * block * ld * cols + (j * ld + i) * block
// + p % block]. block == count is the fully interleaved layout. The last block is stored whole: unused slots
// are padding that kernels may read and rewrite.
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

// One group of a grouped batch: `count` problems of one shape, each with its own pointers. A variable batch
// is a sequence of groups with count 1.
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

// One problem of a variable batch: everything is its own.
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

// One product of a stack: where its A, B and C begin, in elements from the stack's a, b and c ...
struct StackOffsets {
  std::int64_t a = 0;
  std::int64_t b = 0;
  std::int64_t c = 0;
};
// ... or their addresses.
template <class T>
struct StackPointers {
  const T* a = nullptr;
  const T* b = nullptr;
  T* c = nullptr;
};

// A list of products of one shape, alpha * op(A) * op(B) each, that are added to the C they name, as codes
// for block-sparse matrices keep them (the stacks of DBCSR, CP2K). Products may name the same C, one behind
// the other or anywhere in the list. Either `offsets` or `pointers` lists them.
template <class T, Location L = Location::host>
struct GemmStack {
  Op op_a = Op::none;
  Op op_b = Op::none;
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  T alpha = T(1);
  const T* a = nullptr;  // what offsets count from; not read where pointers are given
  std::int64_t lda = 0;
  const T* b = nullptr;
  std::int64_t ldb = 0;
  T* c = nullptr;
  std::int64_t ldc = 0;
  const StackOffsets* offsets = nullptr;  // count of them
  const StackPointers<T>* pointers = nullptr;
  std::int64_t count = 0;
};

}  // namespace v0_2
}  // namespace tilewright
