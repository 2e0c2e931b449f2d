/// @file
/// C = alpha * op(A) * op(B) + beta * C for one matrix or a batch, on data in host memory or on a GPU: the
/// location of the operands is part of the views' type. These clauses hold for every function here unless its
/// own say otherwise.
/// @par Units Sizes, leading dimensions, strides and offsets count elements, in 64 bits.
/// @par Shapes Views describe matrices as stored, before op: A is m x k for Op::none and k x m otherwise.
/// @par Memory The caller owns all memory. A call on the host keeps none of it; operands of a call on a GPU
///   must live until the queued work is done.
/// @par Threads Any number of threads may call with one Context at once, on different C.
/// @par Errors Every call validates its arguments before it writes anything and throws Error,
/// invalid_argument
///   naming the argument; without an info array nothing has been written then. C at the address of A or B is
///   refused by calls, not by plans; other overlaps of C with A or B are forbidden but not found.
/// @par Numerics beta == 0 never reads C; alpha == 0 or k == 0 never reads A and B, and with beta == 1 leaves
/// C
///   as it is. Complex products are (ac - bd) + (ad + bc)i: an infinity may become NaN, as in every BLAS.
#pragma once

#include <span>

#include "tilewright/batch_reduce.hpp"
#include "tilewright/context.hpp"
#include "tilewright/options.hpp"
#include "tilewright/plan.hpp"
#include "tilewright/problem.hpp"
#include "tilewright/strided_gemm.hpp"
#include "tilewright/types.hpp"

namespace tilewright {
inline namespace v0_2 {

/// A variable batch that lies entirely in device memory: entry i of each array describes problem i, and the
/// host reads none of them. The ops hold for all problems. On the host a span of GemmItem describes the
/// problems.
template <class T>
struct VariableBatch {
  Op op_a = Op::none;
  Op op_b = Op::none;
  std::int64_t max_m = 0;  ///< upper bounds of every m, n and k, at most 512: launches are made for them
  std::int64_t max_n = 0;
  std::int64_t max_k = 0;
  const std::int64_t* m = nullptr;
  const std::int64_t* n = nullptr;
  const std::int64_t* k = nullptr;
  BatchScalar<T, Location::device> alpha{T(1)};
  const T* const* a = nullptr;
  const std::int64_t* lda = nullptr;
  const T* const* b = nullptr;
  const std::int64_t* ldb = nullptr;
  BatchScalar<T, Location::device> beta{T(0)};
  T* const* c = nullptr;
  const std::int64_t* ldc = nullptr;
  std::int64_t count = 0;
};

}  // namespace v0_2

/// C = alpha * op(A) * op(B) + beta * C of one matrix.
/// @par Shapes op(A) is m x k, op(B) k x n and C m x n; the views determine m, n and k.
/// @throws Error invalid_argument naming the view or its field, unsupported if no candidate serves,
///   out_of_memory, device_lost if a GPU fails that shares the product. C is unchanged, except with
///   device_lost, whose message says which part is missing.
/// @see BLAS xGEMM (Dongarra, Du Croz, Hammarling and Duff 1990)
template <class T>
void gemm(Context& context, Op op_a, Op op_b, Same<T> alpha, const Same<MatrixView<const T>>& a,
          const Same<MatrixView<const T>>& b, Same<T> beta, const MatrixView<T>& c,
          const GemmOptions& options = default_options());

/// C_p = alpha_p * op(A_p) * op(B_p) + beta_p * C_p for each problem p of a batch of one shape.
/// No two problems of one call may have a C, or a part of one, in common: kernels read a C before those of
/// earlier problems are stored, so that products are lost, on one thread too. options.checked finds this in
/// pointer batches; gemm_batch_reduce() and gemm_stack() accumulate products into one C.
/// @par Shapes As gemm(), for each problem; the counts of a, b and c must agree.
/// @throws Error as gemm(), with the number of the problem whose pointer is bad; with `info` such problems
///   are skipped and reported instead.
/// @see Batched BLAS (Dongarra et al. 2017), the source of BatchInfo
template <class T>
void gemm_batched(Context& context, Op op_a, Op op_b, Same<BatchScalar<T>> alpha,
                  Same<StridedBatch<const T>> a, Same<StridedBatch<const T>> b, Same<BatchScalar<T>> beta,
                  StridedBatch<T> c, const GemmOptions& options = default_options(), BatchInfo info = {});
template <class T>
void gemm_batched(Context& context, Op op_a, Op op_b, Same<BatchScalar<T>> alpha,
                  Same<PointerBatch<const T>> a, Same<PointerBatch<const T>> b, Same<BatchScalar<T>> beta,
                  PointerBatch<T> c, const GemmOptions& options = default_options(), BatchInfo info = {});
template <class T>
void gemm_batched(Context& context, Op op_a, Op op_b, Same<BatchScalar<T>> alpha,
                  Same<InterleavedBatch<const T>> a, Same<InterleavedBatch<const T>> b,
                  Same<BatchScalar<T>> beta, InterleavedBatch<T> c,
                  const GemmOptions& options = default_options(), BatchInfo info = {});

/// gemm() and gemm_batched() on a GPU, queued on options.queue; they return before the work is done.
/// The addresses, and the pointers of a pointer batch, are those of device memory. One alpha or beta for all
/// lies on the host, values per problem on the device. The call checks of operands: sizes, strides, null,
/// alignment, ranges that certainly overlap; with options.checked also that the memory is that GPU's. The
/// device finds null pointers in a pointer batch: such a problem is skipped, and reported if `info` is given.
/// Interleaved batches are supported for sizes up to 512; pointers that are reported for sizes up to 64, or
/// with values per problem. The location is a parameter so that gemm<double>(..., {c, m, n, ld}, ...) means
/// the host.
/// @throws Error as gemm(), before anything is queued; `info` receives what only the device can find.
template <class T, Location L>
void gemm(Context& context, Op op_a, Op op_b, Same<T> alpha, const Same<MatrixView<const T, L>>& a,
          const Same<MatrixView<const T, L>>& b, Same<T> beta, const MatrixView<T, L>& c,
          const GemmOptions& options = default_options());
template <class T, Location L>
void gemm_batched(Context& context, Op op_a, Op op_b, Same<BatchScalar<T, L>> alpha,
                  Same<StridedBatch<const T, L>> a, Same<StridedBatch<const T, L>> b,
                  Same<BatchScalar<T, L>> beta, StridedBatch<T, L> c,
                  const GemmOptions& options = default_options(), BatchInfo info = {});
template <class T, Location L>
void gemm_batched(Context& context, Op op_a, Op op_b, Same<BatchScalar<T, L>> alpha,
                  Same<PointerBatch<const T, L>> a, Same<PointerBatch<const T, L>> b,
                  Same<BatchScalar<T, L>> beta, PointerBatch<T, L> c,
                  const GemmOptions& options = default_options(), BatchInfo info = {});
template <class T, Location L>
void gemm_batched(Context& context, Op op_a, Op op_b, Same<BatchScalar<T, L>> alpha,
                  Same<InterleavedBatch<const T, L>> a, Same<InterleavedBatch<const T, L>> b,
                  Same<BatchScalar<T, L>> beta, InterleavedBatch<T, L> c,
                  const GemmOptions& options = default_options(), BatchInfo info = {});

/// gemm_batched() of groups, each of one shape, and of batches whose problems have a shape each.
/// @par Shapes As gemm(), for each group or item. No C may repeat: gemm_stack() is for that.
/// @throws Error as gemm_batched(), naming the group or the problem.
/// @see Batched BLAS (Dongarra et al. 2017), the group interface
template <class T>
void gemm_grouped(Context& context, std::span<const GemmGroup<T>> groups,
                  const GemmOptions& options = default_options(), BatchInfo info = {});
template <class T>
void gemm_variable(Context& context, std::span<const GemmItem<T>> items,
                   const GemmOptions& options = default_options(), BatchInfo info = {});

/// gemm_grouped() of groups whose matrices, and arrays of pointers to them, are in device memory; the host
/// reads the groups themselves. Each group is one launch. gemm_grouped<double, Location::device>(...).
/// @throws Error as gemm_batched() on a GPU, naming the group.
template <class T, Location L>
void gemm_grouped(Context& context, std::span<const GemmGroup<T, L>> groups,
                  const GemmOptions& options = default_options(), BatchInfo info = {});

/// gemm_variable() of a batch whose description lies in device memory too, where the host does not read it.
/// A bad problem (a negative size or one above its bound, a leading dimension below the rows, a null pointer)
/// is skipped, and reported if `info` is given.
/// @throws Error for what the host can see, before anything is queued.
/// @see MAGMA xgemm_vbatched
template <class T>
void gemm_variable(Context& context, const VariableBatch<T>& batch,
                   const GemmOptions& options = default_options(), BatchInfo info = {});

}  // namespace tilewright
