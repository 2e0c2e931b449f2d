// Solves with a triangle, BLAS xTRSM, for the problems of a vector at once. Highway compiles this file per
// instruction set.
#include "kernel/factor_cpu/kernel.hpp"
#include "kernel/factor_cpu/targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernel/factor_cpu/triangular.cpp"
#include "hwy/foreach_target.h"
// These follow foreach_target, which sets the instruction set they compile for.
#include "hwy/highway.h"
#include "kernel/factor_cpu/blocks.hpp"

HWY_BEFORE_NAMESPACE();
namespace tilewright {
namespace HWY_NAMESPACE {

// B *= alpha; a zero overwrites B, whatever it holds.
template <class A, class Matrix = LaneMatrix<typename A::Real>>
void scale(const Matrix& b, std::int64_t rows, std::int64_t cols, const typename A::Real* alpha) {
  const auto re = hn::Set(typename A::D(), alpha[0]), im = hn::Set(typename A::D(), alpha[A::parts - 1]);
  const auto factor = A::right(A::is_complex ? hn::OddEven(im, re) : re);
  const bool is_zero = alpha[0] == 0 && alpha[A::parts - 1] == 0;
  for (std::int64_t j = 0; j < cols; ++j)
    for (std::int64_t i = 0; i < rows; ++i)
      A::store(is_zero ? A::zero() : A::multiply(A::left(A::load(b.at(i, j))), factor), b.at(i, j));
}

// B = inv(op(A)) alpha B, or from the right. X op(A) = B is op(A)^T X^T = B^T.
template <class A>
void run_triangular(const LaneShape& shape, const LaneGroup& group) {
  using Real = typename A::Real;
  const bool right = shape.side == Side::right;
  const bool transposed = (shape.op != Op::none) != right, conj = shape.op == Op::conj_trans;
  const bool lower = (shape.uplo == Uplo::lower) != transposed;
  const auto* alpha = static_cast<const Real*>(group.alpha);
  const bool scales = alpha[0] != 1 || (A::is_complex && alpha[1] != 0);
  const auto solve = [&]<bool Conj>(std::bool_constant<Conj>, const auto& t, const Inverses<A>* inverses,
                                    const auto& x) {
    if (lower)
      solve_lower<A, Conj>(t, shape.n, inverses, x, shape.nrhs);
    else
      solve_upper<A, Conj>(t, shape.n, inverses, x, shape.nrhs);
  };
  each_vector<A>(shape, group, [&](const auto& a, const auto& b, std::int64_t) HWY_ATTR {
    const auto t = transposed ? a.transposed() : a;
    const auto x = right ? b.transposed() : b;
    if (scales) scale<A>(x, shape.n, shape.nrhs, alpha);
    if (alpha[0] == 0 && alpha[A::parts - 1] == 0) return;
    if (shape.diag == Diag::unit) {
      if (conj)
        solve(std::true_type(), t, nullptr, x);
      else
        solve(std::false_type(), t, nullptr, x);
      return;
    }
    const Inverses<A> inverses(t, shape.n, static_cast<Real*>(group.work));
    if (conj)
      solve(std::true_type(), t, &inverses, x);
    else
      solve(std::false_type(), t, &inverses, x);
  });
}

TILEWRIGHT_FACTOR_SOLVE(float, false);
TILEWRIGHT_FACTOR_SOLVE(double, false);
TILEWRIGHT_FACTOR_SOLVE(std::complex<float>, false);
TILEWRIGHT_FACTOR_SOLVE(std::complex<double>, false);
TILEWRIGHT_FACTOR_SOLVE(std::complex<float>, true);
TILEWRIGHT_FACTOR_SOLVE(std::complex<double>, true);

LaneKernel find_triangular(const LaneShape& shape) {
  return dispatch(shape.dtype, []<class T>() -> LaneKernel { return run_triangular<LanesOf<T>>; });
}

std::int64_t vector_bytes(DType dtype) {
  return dispatch(
      dtype, []<class T>() { return LanesOf<T>::reals() * std::int64_t(sizeof(typename LanesOf<T>::Real)); });
}

}  // namespace HWY_NAMESPACE
}  // namespace tilewright
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "core/problem.hpp"

namespace tilewright {

HWY_EXPORT(find_triangular);
HWY_EXPORT(vector_bytes);

LaneKernel find_triangular_kernel(const LaneShape& shape) {
  return HWY_DYNAMIC_DISPATCH(find_triangular)(shape);
}

std::int64_t lane_slots(DType dtype) { return HWY_DYNAMIC_DISPATCH(vector_bytes)(dtype) / size_bytes(dtype); }

std::int64_t lane_work_bytes(const LaneShape& shape) {
  const std::int64_t steps = std::min(shape.m, shape.n);
  const bool decomposes = shape.routine == Routine::syev || shape.routine == Routine::gesvd;
  const std::int64_t matrices = shape.routine == Routine::potri ? 1 : decomposes ? 2 : 0;
  const std::int64_t bytes =
      std::max<std::int64_t>(HWY_DYNAMIC_DISPATCH(vector_bytes)(shape.dtype), lane_row_set_bytes);
  return (3 * steps + matrices * lane_elements(steps, steps)) * bytes;
}

LaneKernel find_lane_kernel(const LaneShape& shape) {
  if (std::max(shape.m, shape.n) > most_lane_rows_of(shape.routine)) return nullptr;
  switch (shape.routine) {
    case Routine::potrf:
    case Routine::potrs:
    case Routine::posv:
    case Routine::potri:
      return find_cholesky_kernel(shape);
    case Routine::trsm:
      return find_triangular_kernel(shape);
    case Routine::geqrf:
    case Routine::ormqr:
    case Routine::gels:
      return find_qr_kernel(shape);
    case Routine::syev:
    case Routine::gesvd:
      return find_jacobi_kernel(shape);
    default:
      return find_lu_kernel(shape);
  }
}

}  // namespace tilewright
#endif
