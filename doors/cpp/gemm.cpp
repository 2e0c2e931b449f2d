// gemm and gemm_batched for the four element types: views become a problem and operands, which gemm/call
// checks and runs.
#include "tilewright/gemm.hpp"

#include "core/dispatch.hpp"
#include "core/input/checked.hpp"
#include "core/refuse.hpp"
#include "gemm/call.hpp"
#include "gemm/cpu_small/calls.hpp"
#include "gemm/cpu_small/groups.hpp"
#include "gemm/device/batches.hpp"

namespace tilewright {
namespace {

template <class T, Location L>
std::int64_t count_of(const MatrixView<T, L>&) {
  return 1;
}
template <class View>
std::int64_t count_of(const View& view) {
  refuse_negative("count", view.count);
  return view.count;
}
// Returns the count of all levels; what 64 bits do not hold is more than any operand can have.
template <class T, Location L>
std::int64_t count_of(const StridedBatch<T, L>& x) {
  refuse_negative("count", x.count);
  refuse_negative("outer_count", x.outer_count);
  refuse_negative("outermost_count", x.outermost_count);
  const auto count = checked_product(x.count, x.outer_count, x.outermost_count);
  if (!count)
    throw Error(
        ErrorCode::invalid_argument, "count",
        fmt::format("count = {} times outer_count = {} times outermost_count = {} does not fit 64 bits",
                    x.count, x.outer_count, x.outermost_count));
  return *count;
}

void check_level_counts(const char* name, std::int64_t a, std::int64_t b, std::int64_t c) {
  if (a != c || b != c)
    throw Error(ErrorCode::invalid_argument, name,
                fmt::format("the {}s of a, b and c differ: {}, {}, {}", name, a, b, c));
}

// The fields of the problem that only one kind of view has.
template <class T, Location L>
void describe_layout(GemmProblem& p, const MatrixView<const T, L>&, const MatrixView<const T, L>&,
                     const MatrixView<T, L>&) {
  p.layout = Layout::single;
}
template <class T, Location L>
void describe_layout(GemmProblem& p, const StridedBatch<const T, L>& a, const StridedBatch<const T, L>& b,
                     const StridedBatch<T, L>& c) {
  p.layout = Layout::strided;
  p.stride_a = a.stride;
  p.stride_b = b.stride;
  p.stride_c = c.stride;
  check_level_counts("outer_count", a.outer_count, b.outer_count, c.outer_count);
  check_level_counts("outermost_count", a.outermost_count, b.outermost_count, c.outermost_count);
  p.outer_count = c.outer_count;
  p.outer_a = a.outer_stride, p.outer_b = b.outer_stride, p.outer_c = c.outer_stride;
  p.outermost_count = c.outermost_count;
  p.outermost_a = a.outermost_stride, p.outermost_b = b.outermost_stride, p.outermost_c = c.outermost_stride;
}
template <class T, Location L>
void describe_layout(GemmProblem& p, const PointerBatch<const T, L>&, const PointerBatch<const T, L>&,
                     const PointerBatch<T, L>&) {
  p.layout = Layout::pointer;
}
template <class T, Location L>
void describe_layout(GemmProblem& p, const InterleavedBatch<const T, L>& a,
                     const InterleavedBatch<const T, L>& b, const InterleavedBatch<T, L>& c) {
  if (a.block != c.block || b.block != c.block)
    throw Error(ErrorCode::invalid_argument, "block",
                fmt::format("the blocks of a, b and c differ: {}, {}, {}", a.block, b.block, c.block));
  p.layout = c.block == c.count ? Layout::interleaved : Layout::block_interleaved;
  p.block = c.block;
}

template <class T, Location L>
Scalar class_of(const BatchScalar<T, L>& scalar) {
  return scalar.values == nullptr ? scalar_class(scalar.value) : class_per_problem(L);
}

template <class T, Location L, class Input, class Output>
GemmProblem problem_of(Op op_a, Op op_b, const BatchScalar<T, L>& alpha, const Input& a, const Input& b,
                       const BatchScalar<T, L>& beta, const Output& c) {
  GemmProblem p;
  p.dtype = dtype_of<T>;
  p.location = L;
  p.op_a = op_a;
  p.op_b = op_b;
  p.m = c.rows;
  p.n = c.cols;
  p.k = op_a == Op::none ? a.cols : a.rows;
  p.lda = a.ld;
  p.ldb = b.ld;
  p.ldc = c.ld;
  p.batch_count = count_of(c);
  p.alpha = class_of(alpha);
  p.beta = class_of(beta);
  if (count_of(a) != p.batch_count || count_of(b) != p.batch_count)
    throw Error(
        ErrorCode::invalid_argument, "count",
        fmt::format("the counts of a, b and c differ: {}, {}, {}", count_of(a), count_of(b), p.batch_count));
  describe_layout(p, a, b, c);
  return p;
}

// Finds views whose shapes do not fit the problem that C and the operations make.
template <class Input>
[[gnu::noinline]] std::optional<Fault> view_fault(const GemmProblem& p, const Input& a, const Input& b) {
  if (a.rows == p.a_rows() && a.cols == p.a_cols() && b.rows == p.b_rows() && b.cols == p.b_cols()) return {};
  // Ops and sizes first: without them the shapes of a and b mean nothing.
  if (auto fault = find_shape_fault(p); fault && fault->blas_number <= blas_number::k) return fault;
  if (a.rows != p.a_rows() || a.cols != p.a_cols())
    return Fault{"a", blas_number::a,
                 fmt::format("a is {} x {} as stored, but op_a = {} and the {} rows of c need {} x {}",
                             a.rows, a.cols, to_string(p.op_a), p.m, p.a_rows(), p.a_cols())};
  return Fault{
      "b", blas_number::b,
      fmt::format("b is {} x {} as stored, but op_b = {}, k = {} and the {} columns of c need {} x {}",
                  b.rows, b.cols, to_string(p.op_b), p.k, p.n, p.b_rows(), p.b_cols())};
}

// One call on a fixed-size batch. Input is the view of const T that A and B have, Output the view of T that C
// has.
template <class T, Location L, class Input, class Output>
void run_fixed(Context& context, Op op_a, Op op_b, const BatchScalar<T, L>& alpha, const Input& a,
               const Input& b, const BatchScalar<T, L>& beta, const Output& c, const GemmOptions& options,
               const BatchInfo& info) {
  ProductCall call{problem_of(op_a, op_b, alpha, a, b, beta, c), {}, argument_names_of_views};
  Operands& o = call.operands;
  o.a = a.data, o.b = b.data, o.c = const_cast<void*>(static_cast<const void*>(c.data));
  o.alpha = alpha.values == nullptr ? &alpha.value : alpha.values;
  o.beta = beta.values == nullptr ? &beta.value : beta.values;
  o.alpha_stride = alpha.values != nullptr, o.beta_stride = beta.values != nullptr;
  call.fault = view_fault(call.problem, a, b);
  run_call(Access::impl(context), call, options, info);
}

}  // namespace

template <class T>
void gemm(Context& context, Op op_a, Op op_b, Same<T> alpha, const Same<MatrixView<const T>>& a,
          const Same<MatrixView<const T>>& b, Same<T> beta, const MatrixView<T>& c,
          const GemmOptions& options) {
  if (run_single<T>(Access::impl(context), op_a, op_b, alpha, a, b, beta, c, options)) return;
  run_fixed(context, op_a, op_b, BatchScalar<T>(alpha), a, b, BatchScalar<T>(beta), c, options, {});
}
template <class T, Location L>
void gemm(Context& context, Op op_a, Op op_b, Same<T> alpha, const Same<MatrixView<const T, L>>& a,
          const Same<MatrixView<const T, L>>& b, Same<T> beta, const MatrixView<T, L>& c,
          const GemmOptions& options) {
  run_fixed(context, op_a, op_b, BatchScalar<T, L>(alpha), a, b, BatchScalar<T, L>(beta), c, options, {});
}

// gemm_batched has the same body for every kind of batch, on the host and on a GPU.
#define TILEWRIGHT_BATCHED(Batch)                                                                           \
  template <class T>                                                                                        \
  void gemm_batched(Context& context, Op op_a, Op op_b, Same<BatchScalar<T>> alpha, Same<Batch<const T>> a, \
                    Same<Batch<const T>> b, Same<BatchScalar<T>> beta, Batch<T> c,                          \
                    const GemmOptions& options, BatchInfo info) {                                           \
    run_fixed(context, op_a, op_b, alpha, a, b, beta, c, options, info);                                    \
  }                                                                                                         \
  template <class T, Location L>                                                                            \
  void gemm_batched(Context& context, Op op_a, Op op_b, Same<BatchScalar<T, L>> alpha,                      \
                    Same<Batch<const T, L>> a, Same<Batch<const T, L>> b, Same<BatchScalar<T, L>> beta,     \
                    Batch<T, L> c, const GemmOptions& options, BatchInfo info) {                            \
    run_fixed(context, op_a, op_b, alpha, a, b, beta, c, options, info);                                    \
  }
TILEWRIGHT_BATCHED(StridedBatch)
TILEWRIGHT_BATCHED(PointerBatch)
TILEWRIGHT_BATCHED(InterleavedBatch)
#undef TILEWRIGHT_BATCHED

template <class T>
void gemm_grouped(Context& context, std::span<const GemmGroup<T>> groups, const GemmOptions& options,
                  BatchInfo info) {
  run_groups<T>(Access::impl(context), groups, options, info);
}

template <class T>
void gemm_variable(Context& context, std::span<const GemmItem<T>> items, const GemmOptions& options,
                   BatchInfo info) {
  run_items<T>(Access::impl(context), items, options, info);
}

template <class T, Location L>
void gemm_grouped(Context& context, std::span<const GemmGroup<T, L>> groups, const GemmOptions& options,
                  BatchInfo info) {
  run_device_groups<T>(Access::impl(context), groups, options, info);
}

template <class T>
void gemm_variable(Context& context, const VariableBatch<T>& batch, const GemmOptions& options,
                   BatchInfo info) {
  run_device_variable<T>(Access::impl(context), batch, options, info);
}

#define TILEWRIGHT_INSTANTIATE_AT(T, L)                                                                     \
  template void gemm(Context&, Op, Op, Same<T>, const Same<MatrixView<const T, L>>&,                        \
                     const Same<MatrixView<const T, L>>&, Same<T>, const MatrixView<T, L>&,                 \
                     const GemmOptions&);                                                                   \
  template void gemm_batched(Context&, Op, Op, Same<BatchScalar<T, L>>, Same<StridedBatch<const T, L>>,     \
                             Same<StridedBatch<const T, L>>, Same<BatchScalar<T, L>>, StridedBatch<T, L>,   \
                             const GemmOptions&, BatchInfo);                                                \
  template void gemm_batched(Context&, Op, Op, Same<BatchScalar<T, L>>, Same<PointerBatch<const T, L>>,     \
                             Same<PointerBatch<const T, L>>, Same<BatchScalar<T, L>>, PointerBatch<T, L>,   \
                             const GemmOptions&, BatchInfo);                                                \
  template void gemm_batched(Context&, Op, Op, Same<BatchScalar<T, L>>, Same<InterleavedBatch<const T, L>>, \
                             Same<InterleavedBatch<const T, L>>, Same<BatchScalar<T, L>>,                   \
                             InterleavedBatch<T, L>, const GemmOptions&, BatchInfo);
#define TILEWRIGHT_INSTANTIATE(T)                                                                           \
  TILEWRIGHT_INSTANTIATE_AT(T, Location::host)                                                              \
  TILEWRIGHT_INSTANTIATE_AT(T, Location::device)                                                            \
  template void gemm_grouped(Context&, std::span<const GemmGroup<T>>, const GemmOptions&, BatchInfo);       \
  template void gemm_variable(Context&, std::span<const GemmItem<T>>, const GemmOptions&, BatchInfo);       \
  template void gemm_grouped(Context&, std::span<const GemmGroup<T, Location::device>>, const GemmOptions&, \
                             BatchInfo);                                                                    \
  template void gemm_variable(Context&, const VariableBatch<T>&, const GemmOptions&, BatchInfo);

TILEWRIGHT_FOR_TYPES(TILEWRIGHT_INSTANTIATE)
#undef TILEWRIGHT_INSTANTIATE
#undef TILEWRIGHT_INSTANTIATE_AT

}  // namespace tilewright
