// Builds the views of both sides and calls the conversions.
#include "measure/conversion.hpp"

#include "core/dispatch.hpp"
#include "tilewright/layout.hpp"

namespace tilewright {

GemmProblem interleaved_problem(GemmProblem problem, std::int64_t block) {
  problem.layout = Layout::block_interleaved;
  problem.block = block;
  problem.stride_a = problem.stride_b = problem.stride_c = 0;
  return packed(problem);
}

// Calls f with the view of a strided or pointer batch.
template <class T, class F>
void BatchConversion::with_view(const void* data, std::int64_t rows, std::int64_t columns, std::int64_t ld,
                                std::int64_t stride, F&& f) const {
  const std::int64_t count = from_.batch_count;
  if (from_.layout == Layout::pointer)
    f(PointerBatch<T>{static_cast<T* const*>(data), rows, columns, ld, count});
  else
    f(StridedBatch<T>{{static_cast<T*>(const_cast<void*>(data)), rows, columns, ld}, stride, count});
}

template <class T>
void BatchConversion::matrix_in(const void* from, std::int64_t rows, std::int64_t columns, std::int64_t ld,
                                std::int64_t stride, void* to) const {
  const InterleavedBatch<T> target{static_cast<T*>(to), rows, columns, ld, to_.block, from_.batch_count};
  with_view<const T>(from, rows, columns, ld, stride,
                     [&](const auto& source) { interleave<T>(source, target, threads_); });
}

void BatchConversion::in(const Operands& from, const Operands& to) const {
  const GemmProblem& p = from_;
  dispatch(p.dtype, [&]<class T>() {
    matrix_in<T>(from.a, p.a_rows(), p.a_cols(), p.lda, p.stride_a, const_cast<void*>(to.a));
    matrix_in<T>(from.b, p.b_rows(), p.b_cols(), p.ldb, p.stride_b, const_cast<void*>(to.b));
    if (p.beta != Scalar::zero) matrix_in<T>(from.c, p.m, p.n, p.ldc, p.stride_c, to.c);
  });
}

void BatchConversion::out(const Operands& to, const Operands& from) const {
  const GemmProblem& p = from_;
  dispatch(p.dtype, [&]<class T>() {
    const InterleavedBatch<const T> c{static_cast<const T*>(to.c), p.m, p.n, p.ldc, to_.block, p.batch_count};
    with_view<T>(from.c, p.m, p.n, p.ldc, p.stride_c,
                 [&](const auto& target) { deinterleave<T>(c, target, threads_); });
  });
}

}  // namespace tilewright
