/// @file
/// Products that are accumulated: a batch into one C (batch-reduce GEMM), and stacks, lists of products whose
/// C may repeat. gemm.hpp includes this header.
/// @par Units As gemm.hpp: sizes, leading dimensions, strides and offsets count elements, in 64 bits.
/// @par Memory As gemm.hpp. The lists of stacks are the caller's.
/// @par Threads Any number of threads may call with one Context at once, on different C.
/// @par Errors All functions throw Error before anything is written or queued: invalid_argument naming the
///   argument, unsupported if no candidate serves, out_of_memory, and what their comment says.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "tilewright/context.hpp"
#include "tilewright/options.hpp"
#include "tilewright/types.hpp"

namespace tilewright {
inline namespace v0_2 {

/// One product of a stack: the places where its A, B and C begin, in elements from the stack's a, b and c.
struct StackOffsets {
  std::int64_t a = 0;
  std::int64_t b = 0;
  std::int64_t c = 0;
};
/// One product of a stack: the addresses of its A, B and C.
template <class T>
struct StackPointers {
  const T* a = nullptr;
  const T* b = nullptr;
  T* c = nullptr;
};

/// A list of products of one shape, alpha * op(A) * op(B) each, that are added to the C they name, as codes
/// for block-sparse matrices keep them. Products may name the same C, in succession or anywhere in the list.
/// stack_of() makes one. A stack points at the caller's list and matrices and owns nothing.
/// @see DBCSR (Borstnik et al. 2014) and CP2K, whose stacks these are
template <class T, Location L = Location::host>
class GemmStack {
 public:
  /// Makes a stack without products.
  GemmStack() = default;
  /// Makes a stack whose products begin `offsets` behind a, b and c.
  /// @throws Error invalid_argument if the views do not fit one another.
  GemmStack(Op op_a, Op op_b, T alpha, const MatrixView<const T, L>& a, const MatrixView<const T, L>& b,
            const MatrixView<T, L>& c, std::span<const StackOffsets> offsets)
      : GemmStack(op_a, op_b, alpha, a, b, c) {
    a_ = a.data, b_ = b.data, c_ = c.data;
    offsets_ = offsets.data(), count_ = static_cast<std::int64_t>(offsets.size());
  }
  /// Makes a stack whose products lie at `pointers`; of a, b and c only the shapes count.
  /// @throws Error invalid_argument if the views do not fit one another.
  GemmStack(Op op_a, Op op_b, T alpha, const MatrixView<const T, L>& a, const MatrixView<const T, L>& b,
            const MatrixView<T, L>& c, std::span<const StackPointers<T>> pointers)
      : GemmStack(op_a, op_b, alpha, a, b, c) {
    pointers_ = pointers.data(), count_ = static_cast<std::int64_t>(pointers.size());
  }

  /// Return the operations, the sizes of op(A), op(B) and C, and the factor.
  Op op_a() const noexcept { return op_a_; }
  Op op_b() const noexcept { return op_b_; }
  std::int64_t m() const noexcept { return m_; }
  std::int64_t n() const noexcept { return n_; }
  std::int64_t k() const noexcept { return k_; }
  const T& alpha() const noexcept { return alpha_; }
  /// Return the addresses that offsets count from (null with pointers), and the leading dimensions.
  const T* a() const noexcept { return a_; }
  const T* b() const noexcept { return b_; }
  T* c() const noexcept { return c_; }
  std::int64_t lda() const noexcept { return lda_; }
  std::int64_t ldb() const noexcept { return ldb_; }
  std::int64_t ldc() const noexcept { return ldc_; }
  /// Return the list of count() products; the other list is null.
  const StackOffsets* offsets() const noexcept { return offsets_; }
  const StackPointers<T>* pointers() const noexcept { return pointers_; }
  std::int64_t count() const noexcept { return count_; }

 private:
  GemmStack(Op op_a, Op op_b, T alpha, const MatrixView<const T, L>& a, const MatrixView<const T, L>& b,
            const MatrixView<T, L>& c)
      : op_a_(op_a),
        op_b_(op_b),
        m_(c.rows),
        n_(c.cols),
        k_(op_a == Op::none ? a.cols : a.rows),
        alpha_(alpha),
        lda_(a.ld),
        ldb_(b.ld),
        ldc_(c.ld) {
    if ((op_a == Op::none ? a.rows : a.cols) != m_ || (op_b == Op::none ? b.cols : b.rows) != n_ ||
        (op_b == Op::none ? b.rows : b.cols) != k_)
      raise(
          Error(ErrorCode::invalid_argument, "a", "the sizes of op(A), op(B) and C of the stack do not fit"));
  }

  Op op_a_ = Op::none, op_b_ = Op::none;
  std::int64_t m_ = 0, n_ = 0, k_ = 0;
  T alpha_ = T(1);
  const T* a_ = nullptr;
  const T* b_ = nullptr;
  T* c_ = nullptr;
  std::int64_t lda_ = 1, ldb_ = 1, ldc_ = 1;
  const StackOffsets* offsets_ = nullptr;
  const StackPointers<T>* pointers_ = nullptr;
  std::int64_t count_ = 0;
};

/// Returns a stack of products whose matrices lie like a, b and c and begin `offsets` elements behind them,
/// or at addresses of their own: then the data of a, b and c is not read.
/// @par Shapes op(A) is m x k, op(B) k x n and C m x n; views describe matrices as stored, before op.
/// @par Memory The list is the caller's, must live as long as the stack, and lies where gemm_stack() or
///   plan_stacks() says.
/// @throws Error invalid_argument if the views do not fit one another.
template <class T, Location L>
GemmStack<T, L> stack_of(Op op_a, Op op_b, Same<T> alpha, const Same<MatrixView<const T, L>>& a,
                         const Same<MatrixView<const T, L>>& b, const MatrixView<T, L>& c,
                         std::span<const Same<StackPointers<T>>> pointers) {
  return {op_a, op_b, alpha, a, b, c, pointers};
}
template <class T, Location L>
GemmStack<T, L> stack_of(Op op_a, Op op_b, Same<T> alpha, const Same<MatrixView<const T, L>>& a,
                         const Same<MatrixView<const T, L>>& b, const MatrixView<T, L>& c,
                         std::span<const StackOffsets> offsets) {
  return {op_a, op_b, alpha, a, b, c, offsets};
}

/// Stacks in device memory that are run again and again: plan_stacks() sorts their lists by C and keeps them
/// on the device. The plan names the matrices by their addresses, which may hold other elements at each run.
/// @par Threads It may be run on several streams, one after the other if they write the same C.
class StackPlan {
 public:
  /// Each C that the lists name becomes beta * C plus the sum of its products. The work is queued on
  /// `stream`: nothing is waited for, allocated or compiled. T is the type that the plan was made for.
  /// @par Memory The plan and the matrices must live until the queued work is done.
  /// @throws Error invalid_argument for another element type.
  template <class T>
  void run(Same<T> beta, CUstream_st* stream = nullptr) const;
  /// Returns the number of products and of C, and the kernel, of each launch.
  std::string explain() const;

  struct Impl;

 private:
  friend struct Access;
  explicit StackPlan(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
  std::shared_ptr<const Impl> impl_;
};

}  // namespace v0_2

/// C = alpha * (op(A_0) op(B_0) + op(A_1) op(B_1) + ...) + beta * C: the products of a batch, accumulated
/// into one C. Without a product C = beta * C. A stride of 0 uses one matrix for all. For small sizes one
/// thread accumulates them in registers, in the order of the batch.
/// @par Shapes As gemm(), for each product; the counts of a and b must agree.
/// @throws Error as gemm_batched().
/// @see batch-reduce GEMM (Georganas et al. 2020)
template <class T>
void gemm_batch_reduce(Context& context, Op op_a, Op op_b, Same<T> alpha, Same<StridedBatch<const T>> a,
                       Same<StridedBatch<const T>> b, Same<T> beta, MatrixView<T> c,
                       const GemmOptions& options = default_options());
template <class T>
void gemm_batch_reduce(Context& context, Op op_a, Op op_b, Same<T> alpha, Same<PointerBatch<const T>> a,
                       Same<PointerBatch<const T>> b, Same<T> beta, MatrixView<T> c,
                       const GemmOptions& options = default_options());

/// Each C that the stacks name becomes beta * C plus the sum of all products that name it, in whichever
/// stacks. beta is applied once, and a C that no product names is not touched. One thread accumulates the
/// products of one C in the order of the stacks and their lists, so that for small sizes the bits do not
/// depend on the number of threads. The lists need no order; lists whose C ascend or stand in runs are not
/// sorted.
/// @par Shapes Stacks that name the same C must agree in m, n and ldc.
/// @throws Error as gemm_batched(), naming stack and product, also for null matrices and for negative or too
///   large offsets. Two C that overlap in part are found with options.checked only.
/// @see DBCSR (Borstnik et al. 2014)
template <class T>
void gemm_stack(Context& context, std::span<const GemmStack<T>> stacks, Same<T> beta,
                const GemmOptions& options = default_options());

/// gemm_batch_reduce() in device memory, for sizes up to 64. The matrices and the pointers of a pointer batch
/// lie there, alpha, beta and the view of C on the host. The call queues two launches on options.queue.stream
/// and returns. Long sums are divided as their length and the size of C determine, so that the bits are the
/// same each time.
/// @throws Error as gemm_batched() in device memory.
template <class T, Location L>
void gemm_batch_reduce(Context& context, Op op_a, Op op_b, Same<T> alpha, Same<StridedBatch<const T, L>> a,
                       Same<StridedBatch<const T, L>> b, Same<T> beta, MatrixView<T, L> c,
                       const GemmOptions& options = default_options());
template <class T, Location L>
void gemm_batch_reduce(Context& context, Op op_a, Op op_b, Same<T> alpha, Same<PointerBatch<const T, L>> a,
                       Same<PointerBatch<const T, L>> b, Same<T> beta, MatrixView<T, L> c,
                       const GemmOptions& options = default_options());

/// gemm_stack() in device memory, for sizes up to 64: gemm_stack<double, Location::device>(...). The lists
/// lie there too and the host does not read them: products that name one C must be adjacent in their list,
/// and only with beta = 1 may two stacks name the same C. The stacks are queued one after the other on
/// options.queue.stream; one warp holds each C in registers over its run, so that the bits are the same each
/// time. A product without A or B adds nothing, one without C is skipped. plan_stacks() accepts any order.
/// @throws Error for what the host can see.
template <class T, Location L>
void gemm_stack(Context& context, std::span<const GemmStack<T, L>> stacks, Same<T> beta,
                const GemmOptions& options = default_options());

/// Makes a plan of stacks in device memory, in which C may repeat anywhere, in one list and in several.
/// `lists` is the memory that holds offsets and pointers; lists in device memory are read back, which waits
/// for the device. The lists may be freed when the call returns.
/// @throws Error as gemm_stack() on the host.
template <class T>
StackPlan plan_stacks(Context& context, std::span<const GemmStack<T, Location::device>> stacks,
                      Location lists = Location::host, const GemmOptions& options = default_options());

}  // namespace tilewright
