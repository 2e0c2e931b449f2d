/// @file
/// Factorizations, linear systems, least squares, inverses, determinants, eigenvalues and singular values of
/// many small dense matrices at once, in host or device memory. Every function computes what the LAPACK
/// routine in its name computes, for each problem of a batch of one shape; its arguments and results have the
/// routine's meaning. T is float, double, std::complex<float> or std::complex<double>.
/// @par Units Sizes, strides and counts count elements and matrices; pivots and infos count from 1.
/// @par Shapes Batches hold matrices as stored. All batches of a call have one count.
/// @par Memory The caller owns all memory; no call keeps any of it. Matrices that are written must not
/// overlap each other or
///   matrices that are read, except where a routine works in place.
/// @par Devices Batches of Location::device are computed on the GPU and the stream of FactorOptions::queue:
/// calls return before
///   the work is done, and may be captured into a CUDA graph. Pivots, infos and determinants then lie in
///   device memory, as do arrays of pointers; what only the device can read is not checked, and a pivot out
///   of range exchanges nothing. InfoMode::group and any receive the info of one of the problems that have
///   one. Only LU factors may be of matrices that are not square. The first call that needs memory for
///   factors waits for it; a graph holds neither kernels nor products, so the Context must outlive it,
///   uncleared.
/// @par Threads Any number of threads may call with one Context at once, on different matrices.
/// @par Errors Every call validates its arguments before it writes anything and throws
/// Error(invalid_argument) naming the
///   argument and its value, Error(unsupported) if nothing serves the sizes, or Error(out_of_memory). A
///   matrix that cannot be factored is no error of the call: `info` reports it, and other problems are not
///   affected.
#pragma once

#include <array>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

#include "tilewright/context.hpp"
#include "tilewright/options.hpp"
#include "tilewright/routine.hpp"
#include "tilewright/strided.hpp"
#include "tilewright/types.hpp"

namespace tilewright {
inline namespace v0_2 {

/// Every field has a default.
struct FactorOptions {
  Pivoting pivoting = Pivoting::partial;
  int threads = 0;          ///< 0: OpenMP's default; inside a parallel region always 1
  std::string candidate{};  ///< "": the one expected to be fastest; or lanes or blocked, on a GPU gpu_small
                            ///< or gpu_large
  Queue queue{};            ///< of batches in device memory
};

/// A batch of matrices in any arrangement. It is made from a MatrixView (one problem), a StridedBatch, a
/// PointerBatch, an InterleavedBatch, or a view of tilewright/strided.hpp or std::mdspan whose last two
/// dimensions are rows and columns; columns or rows, or both, lie at strides. A problem's matrix begins at
/// pointers[p], or data plus its part of the levels, whose numbers run fastest in the last; a block above 0
/// says that the batch is interleaved.
template <class T, Location L = Location::host>
struct MatrixBatch {
  static constexpr Location location = L;
  struct Level {
    std::int64_t count = 1, stride = 0;
  };
  static constexpr std::size_t most_levels = 8;

  T* data = nullptr;
  T* const* pointers = nullptr;
  std::int64_t rows = 0, cols = 0;
  std::int64_t row_stride = 1, col_stride = 1;
  std::int64_t block = 0;
  std::size_t level_count = 0;
  std::array<Level, most_levels> levels{};

  /// No matrices, one matrix, or those of a batch or view.
  constexpr MatrixBatch() = default;
  constexpr MatrixBatch(const MatrixView<T, L>& one)  // NOLINT: views convert
      : data(one.data), rows(one.rows), cols(one.cols), col_stride(one.ld) {}
  constexpr MatrixBatch(const StridedBatch<T, L>& x)  // NOLINT
      : data(x.data), rows(x.rows), cols(x.cols), col_stride(x.ld), level_count(3) {
    levels[0] = {x.outermost_count, x.outermost_stride}, levels[1] = {x.outer_count, x.outer_stride};
    levels[2] = {x.count, x.stride};
  }
  constexpr MatrixBatch(const PointerBatch<T, L>& x)  // NOLINT
      : pointers(x.data), rows(x.rows), cols(x.cols), col_stride(x.ld), level_count(1) {
    levels[0] = {x.count, 0};
  }
  constexpr MatrixBatch(const InterleavedBatch<T, L>& x)  // NOLINT
      : data(x.data), rows(x.rows), cols(x.cols), col_stride(x.ld), block(x.block), level_count(1) {
    levels[0] = {x.count, 0};
  }
  template <MdspanLike V>
  requires(std::is_same_v<typename V::element_type, T>&& detail::ViewTraits<V>::location ==
           L) constexpr MatrixBatch(const V& x)  // NOLINT
      : data(x.data_handle()) {
    constexpr std::size_t rank = V::rank();
    static_assert(rank >= 2 && rank - 2 <= most_levels,
                  "a batch has rows, columns and at most 8 dimensions more");
    const auto extent = [&](std::size_t i) { return static_cast<std::int64_t>(x.extent(i)); };
    const auto stride = [&](std::size_t i) { return static_cast<std::int64_t>(x.stride(i)); };
    rows = extent(rank - 2), cols = extent(rank - 1), row_stride = stride(rank - 2),
    col_stride = stride(rank - 1);
    level_count = rank - 2;
    for (std::size_t i = 0; i < level_count; ++i) levels[i] = {extent(i), stride(i)};
  }
  /// A batch that is written may be read.
  constexpr operator MatrixBatch<const T, L>() const requires(!std::is_const_v<T>) {
    MatrixBatch<const T, L> same;
    same.data = data, same.pointers = pointers, same.rows = rows, same.cols = cols;
    same.row_stride = row_stride, same.col_stride = col_stride, same.block = block,
    same.level_count = level_count;
    for (std::size_t i = 0; i < level_count; ++i) same.levels[i] = {levels[i].count, levels[i].stride};
    return same;
  }
};

/// The elements have the type of the view.
template <class T, Location L>
MatrixBatch(const MatrixView<T, L>&) -> MatrixBatch<T, L>;
template <class T, Location L>
MatrixBatch(const StridedBatch<T, L>&) -> MatrixBatch<T, L>;
template <class T, Location L>
MatrixBatch(const PointerBatch<T, L>&) -> MatrixBatch<T, L>;
template <class T, Location L>
MatrixBatch(const InterleavedBatch<T, L>&) -> MatrixBatch<T, L>;
template <MdspanLike V>
MatrixBatch(const V&) -> MatrixBatch<typename V::element_type, detail::ViewTraits<V>::location>;

/// The types that convert to a MatrixBatch, the type of their elements without const, and where they lie.
template <class V>
concept MatrixBatchLike = requires(const V& view) {
  MatrixBatch(view);
};
template <MatrixBatchLike V>
using BatchElement =
    std::remove_const_t<std::remove_pointer_t<decltype(MatrixBatch(std::declval<const V&>()).data)>>;
/// The type of the real and imaginary parts of those elements: of eigenvalues and singular values.
template <MatrixBatchLike V>
using BatchReal = decltype(std::abs(BatchElement<V>()));
template <MatrixBatchLike V>
inline constexpr Location batch_location = decltype(MatrixBatch(std::declval<const V&>()))::location;

namespace detail {

// One call as the library receives it; a routine uses the members that it has.
template <class T, Location L = Location::host>
struct FactorCall {
  Routine routine;
  MatrixBatch<const T, L> a{};  // read; not used by the routines that work in place
  MatrixBatch<T, L> b{};        // written: the matrix in place, the right sides, the inverse, vectors or U
  MatrixBatch<T, L> c{};        // written: V^H
  bool vectors = false;         // syev and gesvd: b and c are wanted
  bool keeps_a = false;         // potrf: a is read, and b written
  Uplo uplo = Uplo::lower;
  Side side = Side::left;
  Op op = Op::none;
  Diag diag = Diag::non_unit;
  T alpha = T(1);
  int* pivots_out = nullptr;
  const int* pivots_in = nullptr;
  std::size_t pivot_places = 0;
  // Numbers of each problem: determinants and tau have type T, eigenvalues and singular values its real type.
  void* values_out = nullptr;
  const void* values_in = nullptr;
  std::size_t value_places = 0;
  BatchInfo info{};
};
template <class T, Location L>
void factor(Context& context, const FactorCall<T, L>& call, const FactorOptions& options);

}  // namespace detail
}  // namespace v0_2

/// A = L L^H or U^H U for each A, n x n, of which only the triangle `uplo` is read and overwritten.
/// @par Results info receives what BatchInfo asks for: all: the info of each problem, 0 or the order of the
/// first leading minor
///   that is not positive; group and any: the info of the first problem that has one. The factor of such a
///   problem is undefined.
/// @throws Error invalid_argument naming the argument.
/// @see LAPACK xPOTRF
template <MatrixBatchLike A>
void potrf_batched(Context& context, Uplo uplo, const A& a, BatchInfo info = {},
                   const FactorOptions& options = {}) {
  using T = BatchElement<A>;
  detail::factor<T, batch_location<A>>(
      context, {.routine = Routine::potrf, .b = a, .uplo = uplo, .info = info}, options);
}

/// Writes the factor of each A, of which only the triangle `uplo` is read, to factor, n x n, with zeros in
/// its other triangle. A is not written. Matrices lie in host memory.
/// @par Results info as of potrf_batched() in place.
/// @throws Error invalid_argument naming the argument.
/// @see LAPACK xPOTRF
template <MatrixBatchLike A, MatrixBatchLike B>
requires(batch_location<A> == Location::host) void potrf_batched(Context& context, Uplo uplo, const A& a,
                                                                 const B& factor, BatchInfo info = {},
                                                                 const FactorOptions& options = {}) {
  using T = BatchElement<B>;
  detail::factor<T, batch_location<A>>(context,
                                       {.routine = Routine::potrf,
                                        .a = MatrixBatch(a),
                                        .b = factor,
                                        .keeps_a = true,
                                        .uplo = uplo,
                                        .info = info},
                                       options);
}

/// Solves A X = B with the factors of potrf_batched(); X overwrites B, n x nrhs.
/// @throws Error invalid_argument naming the argument.
/// @see LAPACK xPOTRS
template <MatrixBatchLike A, MatrixBatchLike B>
void potrs_batched(Context& context, Uplo uplo, const A& a, const B& b, const FactorOptions& options = {}) {
  using T = BatchElement<B>;
  detail::factor<T, batch_location<B>>(
      context, {.routine = Routine::potrs, .a = MatrixBatch(a), .b = b, .uplo = uplo}, options);
}

/// Solves A X = B for positive definite A, of which only the triangle `uplo` is read; X overwrites B. A is
/// not written: the factor stays in the cache. The B of a problem whose A is not positive definite keeps its
/// values.
/// @throws Error invalid_argument naming the argument.
/// @see LAPACK xPOSV, xPOTRF for info
template <MatrixBatchLike A, MatrixBatchLike B>
void posv_batched(Context& context, Uplo uplo, const A& a, const B& b, BatchInfo info = {},
                  const FactorOptions& options = {}) {
  using T = BatchElement<B>;
  detail::factor<T, batch_location<B>>(
      context, {.routine = Routine::posv, .a = MatrixBatch(a), .b = b, .uplo = uplo, .info = info}, options);
}

/// Overwrites the triangle of the factor by that of the inverse. info: the first exact zero of the diagonal;
/// the A of such a problem keeps its values.
/// @throws Error invalid_argument naming the argument.
/// @see LAPACK xPOTRI
template <MatrixBatchLike A>
void potri_batched(Context& context, Uplo uplo, const A& a, BatchInfo info = {},
                   const FactorOptions& options = {}) {
  using T = BatchElement<A>;
  detail::factor<T, batch_location<A>>(
      context, {.routine = Routine::potri, .b = a, .uplo = uplo, .info = info}, options);
}

/// P A = L U for each A, m x n. pivots has min(m, n) places for each problem, one problem after the other:
/// row i was exchanged with row pivots[i - 1]. info: the first exact zero of U's diagonal; the factorization
/// is complete all the same.
/// @throws Error invalid_argument naming the argument.
/// @see LAPACK xGETRF
template <MatrixBatchLike A>
void getrf_batched(Context& context, const A& a, std::span<int> pivots, BatchInfo info = {},
                   const FactorOptions& options = {}) {
  using T = BatchElement<A>;
  detail::factor<T, batch_location<A>>(context,
                                       {.routine = Routine::getrf,
                                        .b = a,
                                        .pivots_out = pivots.data(),
                                        .pivot_places = pivots.size(),
                                        .info = info},
                                       options);
}

/// Solves op(A) X = B with the factors and pivots of getrf_batched(); X overwrites B, n x nrhs.
/// @throws Error invalid_argument naming the argument; so for a pivot out of range.
/// @see LAPACK xGETRS
template <MatrixBatchLike A, MatrixBatchLike B>
void getrs_batched(Context& context, Op op, const A& a, std::span<const int> pivots, const B& b,
                   const FactorOptions& options = {}) {
  using T = BatchElement<B>;
  detail::factor<T, batch_location<B>>(context,
                                       {.routine = Routine::getrs,
                                        .a = MatrixBatch(a),
                                        .b = b,
                                        .op = op,
                                        .pivots_in = pivots.data(),
                                        .pivot_places = pivots.size()},
                                       options);
}

/// Solves A X = B for each A, n x n; X overwrites B. A is not written: the factors stay in the cache. The B
/// of a problem whose U has an exact zero on its diagonal keeps its values.
/// @throws Error invalid_argument naming the argument.
/// @see LAPACK xGESV
template <MatrixBatchLike A, MatrixBatchLike B>
void gesv_batched(Context& context, const A& a, const B& b, BatchInfo info = {},
                  const FactorOptions& options = {}) {
  using T = BatchElement<B>;
  detail::factor<T, batch_location<B>>(
      context, {.routine = Routine::gesv, .a = MatrixBatch(a), .b = b, .info = info}, options);
}

/// Overwrites the factors of getrf_batched() by the inverse. The A of a problem with an exact zero on its
/// diagonal keeps its values.
/// @throws Error invalid_argument naming the argument; so for a pivot out of range.
/// @see LAPACK xGETRI
template <MatrixBatchLike A>
void getri_batched(Context& context, const A& a, std::span<const int> pivots, BatchInfo info = {},
                   const FactorOptions& options = {}) {
  using T = BatchElement<A>;
  detail::factor<T, batch_location<A>>(context,
                                       {.routine = Routine::getri,
                                        .b = a,
                                        .pivots_in = pivots.data(),
                                        .pivot_places = pivots.size(),
                                        .info = info},
                                       options);
}

/// Writes the inverse of each A, n x n, which may be A itself. That of a singular problem (info as
/// getrf_batched()) keeps its values.
/// @throws Error invalid_argument naming the argument.
/// @see LAPACK xGETRF, xGETRI
template <MatrixBatchLike A, MatrixBatchLike B>
void inv_batched(Context& context, const A& a, const B& inverse, BatchInfo info = {},
                 const FactorOptions& options = {}) {
  using T = BatchElement<B>;
  detail::factor<T, batch_location<B>>(
      context, {.routine = Routine::inv, .a = MatrixBatch(a), .b = inverse, .info = info}, options);
}

/// Writes the determinant of each A, n x n, to det, which has a place for each problem; 1 if n is 0.
/// @throws Error invalid_argument naming the argument.
/// @see LAPACK xGETRF
template <MatrixBatchLike A>
void det_batched(Context& context, const A& a, std::span<BatchElement<A>> det,
                 const FactorOptions& options = {}) {
  using T = BatchElement<A>;
  detail::factor<T, batch_location<A>>(
      context,
      {.routine = Routine::det, .a = MatrixBatch(a), .values_out = det.data(), .value_places = det.size()},
      options);
}

/// Solves op(A) X = alpha B (Side::left) or X op(A) = alpha B with triangular A; X overwrites B, m x n.
/// @throws Error invalid_argument naming the argument.
/// @see BLAS xTRSM
template <MatrixBatchLike A, MatrixBatchLike B>
void trsm_batched(Context& context, Side side, Uplo uplo, Op op, Diag diag, BatchElement<B> alpha, const A& a,
                  const B& b, const FactorOptions& options = {}) {
  using T = BatchElement<B>;
  detail::factor<T, batch_location<B>>(context,
                                       {.routine = Routine::trsm,
                                        .a = MatrixBatch(a),
                                        .b = b,
                                        .uplo = uplo,
                                        .side = side,
                                        .op = op,
                                        .diag = diag,
                                        .alpha = alpha},
                                       options);
}

/// A = Q R for each A, m x n: R overwrites the upper triangle, the reflectors whose product is Q the rest.
/// tau has min(m, n) places for each problem, one problem after the other.
/// @throws Error invalid_argument naming the argument.
/// @see LAPACK xGEQRF
template <MatrixBatchLike A>
void geqrf_batched(Context& context, const A& a, std::span<BatchElement<A>> tau,
                   const FactorOptions& options = {}) {
  using T = BatchElement<A>;
  detail::factor<T, batch_location<A>>(
      context, {.routine = Routine::geqrf, .b = a, .values_out = tau.data(), .value_places = tau.size()},
      options);
}

/// Overwrites B, m x nrhs, by Q B (Op::none) or Q^H B (Op::conj_trans; for real numbers also Op::trans) with
/// the reflectors and tau of geqrf_batched().
/// @throws Error invalid_argument naming the argument.
/// @see LAPACK xORMQR, xUNMQR
template <MatrixBatchLike A, MatrixBatchLike B>
void ormqr_batched(Context& context, Op op, const A& a, std::span<const BatchElement<B>> tau, const B& b,
                   const FactorOptions& options = {}) {
  using T = BatchElement<B>;
  detail::factor<T, batch_location<A>>(context,
                                       {.routine = Routine::ormqr,
                                        .a = MatrixBatch(a),
                                        .b = b,
                                        .op = op,
                                        .values_in = tau.data(),
                                        .value_places = tau.size()},
                                       options);
}

/// Finds the X that make each column of A X - B smallest, for A, m x n with m >= n, of full rank. X
/// overwrites the first n rows of B, m x nrhs; the norm of a column's other rows is that of its residual. A
/// is not written. info: the first exact zero of R's diagonal; the B of such a problem keeps its values.
/// @throws Error invalid_argument naming the argument.
/// @see LAPACK xGELS
template <MatrixBatchLike A, MatrixBatchLike B>
void gels_batched(Context& context, const A& a, const B& b, BatchInfo info = {},
                  const FactorOptions& options = {}) {
  using T = BatchElement<B>;
  detail::factor<T, batch_location<A>>(
      context, {.routine = Routine::gels, .a = MatrixBatch(a), .b = b, .info = info}, options);
}

/// Writes the eigenvalues of each symmetric or Hermitian A, n x n, of which only the triangle `uplo` is read,
/// in ascending order to values, which has n places for each problem, one problem after the other.
/// @par Results info: the elements beside the diagonal that did not become zero; every one of them if an
/// element of A is not finite.
/// @throws Error invalid_argument naming the argument.
/// @see LAPACK xSYEV, xHEEV
template <MatrixBatchLike A>
void syev_batched(Context& context, Uplo uplo, const A& a, std::span<BatchReal<A>> values,
                  BatchInfo info = {}, const FactorOptions& options = {}) {
  using T = BatchElement<A>;
  detail::factor<T, batch_location<A>>(context,
                                       {.routine = Routine::syev,
                                        .a = MatrixBatch(a),
                                        .uplo = uplo,
                                        .values_out = values.data(),
                                        .value_places = values.size(),
                                        .info = info},
                                       options);
}

/// Writes also the eigenvectors, of norm 1, as columns of vectors, n x n, which may be A itself. Those of a
/// problem with an info keep their values.
/// @throws Error invalid_argument naming the argument.
/// @see LAPACK xSYEV, xHEEV
template <MatrixBatchLike A, MatrixBatchLike V>
void syev_batched(Context& context, Uplo uplo, const A& a, std::span<BatchReal<V>> values, const V& vectors,
                  BatchInfo info = {}, const FactorOptions& options = {}) {
  using T = BatchElement<V>;
  detail::factor<T, batch_location<A>>(context,
                                       {.routine = Routine::syev,
                                        .a = MatrixBatch(a),
                                        .b = vectors,
                                        .vectors = true,
                                        .uplo = uplo,
                                        .values_out = values.data(),
                                        .value_places = values.size(),
                                        .info = info},
                                       options);
}

/// Writes the singular values of each A, m x n, in descending order to values, which has min(m, n) places for
/// each problem, one problem after the other.
/// @par Results info: the pairs of columns that did not become orthogonal; every one of them if an element of
/// A is not finite.
/// @throws Error invalid_argument naming the argument.
/// @see LAPACK xGESVD
template <MatrixBatchLike A>
void gesvd_batched(Context& context, const A& a, std::span<BatchReal<A>> values, BatchInfo info = {},
                   const FactorOptions& options = {}) {
  using T = BatchElement<A>;
  detail::factor<T, batch_location<A>>(context,
                                       {.routine = Routine::gesvd,
                                        .a = MatrixBatch(a),
                                        .values_out = values.data(),
                                        .value_places = values.size(),
                                        .info = info},
                                       options);
}

/// Writes also the singular vectors: A = U diag(values) V^H with U of m x min(m, n) and V^H of min(m, n) x n.
/// Those of a problem with an info keep their values. None of them may be A.
/// @throws Error invalid_argument naming the argument.
/// @see LAPACK xGESVD with JOBU = JOBVT = 'S'
template <MatrixBatchLike A, MatrixBatchLike U, MatrixBatchLike V>
void gesvd_batched(Context& context, const A& a, std::span<BatchReal<U>> values, const U& u, const V& vh,
                   BatchInfo info = {}, const FactorOptions& options = {}) {
  using T = BatchElement<U>;
  detail::factor<T, batch_location<A>>(context,
                                       {.routine = Routine::gesvd,
                                        .a = MatrixBatch(a),
                                        .b = u,
                                        .c = vh,
                                        .vectors = true,
                                        .values_out = values.data(),
                                        .value_places = values.size(),
                                        .info = info},
                                       options);
}

}  // namespace tilewright
