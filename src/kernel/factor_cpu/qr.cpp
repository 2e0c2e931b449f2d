// A = Q R and what it serves, LAPACK xGEQRF, xORMQR and xGELS, for the problems of a vector at once. Highway
// compiles this file per instruction set.
#include "kernel/factor_cpu/kernel.hpp"
#include "kernel/factor_cpu/targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernel/factor_cpu/qr.cpp"
#include "hwy/foreach_target.h"
// These follow foreach_target, which sets the instruction set they compile for.
#include "hwy/highway.h"
#include "kernel/factor_cpu/reflectors.hpp"

HWY_BEFORE_NAMESPACE();
namespace tilewright {
namespace HWY_NAMESPACE {

// The kernel of the routines named above.
template <class A>
void run_qr(const LaneShape& shape, const LaneGroup& group) {
  using Real = typename A::Real;
  using Matrix = LaneMatrix<Real>;
  const std::int64_t m = shape.m, n = shape.n, nrhs = shape.nrhs, pitch = group.slots * A::parts;
  auto* const work = static_cast<Real*>(group.work);
  each_vector<A>(shape, group, [&](const Matrix& a, const Matrix& b, std::int64_t slot) HWY_ATTR {
    const Matrix of_caller{static_cast<Real*>(group.values) + slot * A::parts, pitch, 0};
    if (shape.routine == Routine::geqrf) return factor_qr<A>(a, m, n, of_caller, b, 0);
    if (shape.routine == Routine::ormqr)
      return apply_q<A>(a, m, std::min(m, n), of_caller, shape.op != Op::none, b, nrhs);
    factor_qr<A>(a, m, n, Matrix{work, A::reals(), 0}, b, nrhs);
    store_info<A>(first_zero<A>(a, n), group.info + slot);
    const Inverses<A> inverses(a, n, work);
    solve_upper<A, false>(a, n, &inverses, b, nrhs);
  });
}

LaneKernel find_qr(const LaneShape& shape) {
  return dispatch(shape.dtype, []<class T>() -> LaneKernel { return run_qr<LanesOf<T>>; });
}

}  // namespace HWY_NAMESPACE
}  // namespace tilewright
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tilewright {

HWY_EXPORT(find_qr);

LaneKernel find_qr_kernel(const LaneShape& shape) { return HWY_DYNAMIC_DISPATCH(find_qr)(shape); }

}  // namespace tilewright
#endif
