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

template <class T>
void BatchConversion::matrix_in(const void* from, std::int64_t rows, std::int64_t columns, std::int64_t ld,
                                std::int64_t stride, void* to) const {
  const std::int64_t count = from_.batch_count;
  const InterleavedBatch<T> target{static_cast<T*>(to), rows, columns, ld, to_.block, count};
  if (from_.layout == Layout::pointer)
    interleave<T>(PointerBatch<const T>{static_cast<const T* const*>(from), rows, columns, ld, count}, target,
                  threads_);
  else
    interleave<T>(StridedBatch<const T>{{static_cast<const T*>(from), rows, columns, ld}, stride, count},
                  target, threads_);
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
    if (p.layout == Layout::pointer)
      deinterleave<T>(c, PointerBatch<T>{static_cast<T* const*>(from.c), p.m, p.n, p.ldc, p.batch_count},
                      threads_);
    else
      deinterleave<T>(c,
                      StridedBatch<T>{{static_cast<T*>(from.c), p.m, p.n, p.ldc}, p.stride_c, p.batch_count},
                      threads_);
  });
}

}  // namespace tilewright
