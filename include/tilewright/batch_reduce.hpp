// Products that are summed: a batch into one C (batch-reduce GEMM), and stacks, lists of products whose C may
// repeat. gemm.hpp includes this header; what it says of every call holds here too.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "tilewright/context.hpp"
#include "tilewright/options.hpp"
#include "tilewright/types.hpp"

namespace tilewright {
inline namespace v0_2 {

// Stacks in device memory that are run again and again: their lists are sorted by C when the plan is made and
// kept on the device. The plan names the matrices by their addresses, which may hold other elements at each
// run. It may be run on several streams, one after the other where they write the same C.
class StackPlan {
 public:
  // Each C that the lists name becomes beta * C plus the sum of its products. Queued on `stream`: nothing is
  // waited for, allocated or compiled. T is the type that the plan was made for.
  template <class T>
  void run(Same<T> beta, CUstream_st* stream = nullptr) const;
  // Products, sums and the kernel of each launch.
  std::string explain() const;

  struct Impl;

 private:
  friend struct Access;
  explicit StackPlan(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
  std::shared_ptr<const Impl> impl_;
};

}  // namespace v0_2

/// The products of a batch summed into one C.
/// C = alpha * (op(A_0) op(B_0) + op(A_1) op(B_1) + ...) + beta * C: the products of a batch summed into one
/// C (batch-reduce GEMM). The counts of a and b must agree; without a product C = beta * C. A stride of 0
/// takes one matrix for all. Small sizes are summed in registers, in the order of the batch, by one thread.
/// @par Shapes As gemm(), of each product; the counts of a and b must agree.
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

/// A stack of products whose matrices lie like a, b and c and begin so many elements behind them, or at
/// addresses of their own: then the data of a, b and c is not read. The lists are the caller's and lie where
/// gemm_stack() and plan_stacks() say.
/// @par Shapes op(A) is m x k, op(B) k x n and C m x n, as gemm() has them.
/// @throws Error invalid_argument for views that do not fit one another.
template <class T, Location L>
GemmStack<T, L> stack_of(Op op_a, Op op_b, Same<T> alpha, const Same<MatrixView<const T, L>>& a,
                         const Same<MatrixView<const T, L>>& b, const MatrixView<T, L>& c,
                         std::span<const Same<StackPointers<T>>> pointers) {
  GemmStack<T, L> stack;
  stack.op_a = op_a, stack.op_b = op_b, stack.alpha = alpha;
  stack.m = c.rows, stack.n = c.cols, stack.k = op_a == Op::none ? a.cols : a.rows;
  stack.lda = a.ld, stack.ldb = b.ld, stack.ldc = c.ld;
  if ((op_a == Op::none ? a.rows : a.cols) != c.rows || (op_b == Op::none ? b.cols : b.rows) != c.cols ||
      (op_b == Op::none ? b.rows : b.cols) != stack.k)
    raise(Error(ErrorCode::invalid_argument, "a", "the sizes of op(A), op(B) and C of the stack do not fit"));
  stack.pointers = pointers.data();
  stack.count = static_cast<std::int64_t>(pointers.size());
  return stack;
}
template <class T, Location L>
GemmStack<T, L> stack_of(Op op_a, Op op_b, Same<T> alpha, const Same<MatrixView<const T, L>>& a,
                         const Same<MatrixView<const T, L>>& b, const MatrixView<T, L>& c,
                         std::span<const StackOffsets> offsets) {
  GemmStack<T, L> stack = stack_of<T, L>(op_a, op_b, alpha, a, b, c, std::span<const StackPointers<T>>());
  stack.a = a.data, stack.b = b.data, stack.c = c.data;
  stack.offsets = offsets.data(), stack.pointers = nullptr;
  stack.count = static_cast<std::int64_t>(offsets.size());
  return stack;
}

/// Lists of products of one shape each, every one added to the C that it names.
/// Stacks of products whose C may repeat: each C that is named becomes beta * C plus the sum of all products
/// that name it, in whichever stacks. beta is brought to it once, and a C that no product names is not
/// touched. Products of one C are summed in the order of the stacks and their lists, and by one thread, so
/// that the bits of small sizes do not depend on the number of threads. The lists need no order; those whose
/// C ascends, or stands in runs, are not sorted. Stacks that name the same C must agree in m, n and ldc; two
/// C that share only some elements are an error that options.checked finds. Throws Error naming stack and
/// product, before anything is written, for null and negative or too large offsets too.
/// @see DBCSR (Borstnik et al. 2014), whose stacks these are
template <class T>
void gemm_stack(Context& context, std::span<const GemmStack<T>> stacks, Same<T> beta,
                const GemmOptions& options = default_options());

// The same in device memory: the matrices and the pointers of a pointer batch lie there, alpha, beta and the
// view of C on the host. The call queues two launches on options.queue.stream and returns. Sums are cut where
// their length and the size of C say, so that the bits are the same each time. Sizes up to 64.
template <class T, Location L>
void gemm_batch_reduce(Context& context, Op op_a, Op op_b, Same<T> alpha, Same<StridedBatch<const T, L>> a,
                       Same<StridedBatch<const T, L>> b, Same<T> beta, MatrixView<T, L> c,
                       const GemmOptions& options = default_options());
template <class T, Location L>
void gemm_batch_reduce(Context& context, Op op_a, Op op_b, Same<T> alpha, Same<PointerBatch<const T, L>> a,
                       Same<PointerBatch<const T, L>> b, Same<T> beta, MatrixView<T, L> c,
                       const GemmOptions& options = default_options());

// Stacks in device memory, whose lists (offsets or pointers) lie there too and are not read by the host: the
// products that name one C must stand one behind the other in their list, and only with beta = 1 may two
// stacks name the same C. The stacks are queued one after the other on options.queue.stream; each C is held
// in registers over its run by one warp, so that the bits are the same each time. A product without A or B
// adds nothing, one without C is left out. Sizes up to 64. For lists in any order there is plan_stacks.
// gemm_stack<double, Location::device>(...).
template <class T, Location L>
void gemm_stack(Context& context, std::span<const GemmStack<T, L>> stacks, Same<T> beta,
                const GemmOptions& options = default_options());

// C may repeat anywhere, in one list and in several. `lists`: where offsets and pointers lie; those in device
// memory are read back, which waits for the device. The lists may be gone when this returns. Throws Error as
// gemm_stack of the host.
template <class T>
StackPlan plan_stacks(Context& context, std::span<const GemmStack<T, Location::device>> stacks,
                      Location lists = Location::host, const GemmOptions& options = default_options());

}  // namespace tilewright
