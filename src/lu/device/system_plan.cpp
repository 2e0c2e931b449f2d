// Plans for systems, inverses and refinement by factors in the memory of a GPU.
#include <algorithm>
#include <complex>

#include "core/dispatch.hpp"
#include "lu/device/machines.hpp"
#include "lu/device/plan.hpp"
#include "lu/device/refinement.hpp"
#include "lu/device/system.hpp"
#include "lu/validate.hpp"

namespace tilewright {
namespace {

void validate_factors(const LuProblem& factors, const LuOptions& options) {
  validate(factors);
  validate_device(options);
  if (factors.m != factors.n)
    refuse_argument("factors", fmt::format("factors of {} x {} are not square", factors.m, factors.n));
}

}  // namespace

struct LuSolvePlan::Impl : DeviceLuSystem {
  using DeviceLuSystem::DeviceLuSystem;
};

LuSolvePlan plan_lu_solve(Context& context, const LuProblem& factors, Op op, std::int64_t nrhs,
                          std::int64_t ldb, const LuOptions& options) {
  validate_factors(factors, options);
  validate_op(op);
  validate_size("nrhs", nrhs);
  validate_extent(factors.n, nrhs, "ldb", ldb, factors.dtype);
  return Access::make<LuSolvePlan>(std::make_shared<LuSolvePlan::Impl>(
      LuMachines::of(Access::impl(context)).tools(options.device),
      LuSystemShape{factors.dtype, op, factors.n, nrhs, factors.lda, ldb}));
}

std::int64_t LuSolvePlan::workspace_bytes() const noexcept { return impl_->workspace_bytes(); }

template <class T>
void LuSolvePlan::solve(const T* lu, const std::int64_t* pivots, T* b, std::span<std::byte> workspace,
                        CUstream_st* stream) const {
  require_dtype<T>("lu", impl_->shape().dtype);
  if (impl_->shape().n == 0 || impl_->shape().nrhs == 0) return;
  require_addresses({{"lu", lu}, {"pivots", pivots}, {"b", b}}, workspace, workspace_bytes());
  impl_->solve({lu, reinterpret_cast<const long long*>(pivots), b, workspace.data()}, stream);
}

// The right-hand sides are the identity.
struct LuInversePlan::Impl : DeviceLuSystem {
  using DeviceLuSystem::DeviceLuSystem;
};

LuInversePlan plan_lu_inverse(Context& context, const LuProblem& factors, std::int64_t ldinv,
                              const LuOptions& options) {
  validate_factors(factors, options);
  validate_extent(factors.n, factors.n, "ldinv", ldinv, factors.dtype);
  return Access::make<LuInversePlan>(std::make_shared<LuInversePlan::Impl>(
      LuMachines::of(Access::impl(context)).tools(options.device),
      LuSystemShape{factors.dtype, Op::none, factors.n, factors.n, factors.lda, ldinv}));
}

std::int64_t LuInversePlan::workspace_bytes() const noexcept { return impl_->workspace_bytes(); }

template <class T>
void LuInversePlan::invert(const T* lu, const std::int64_t* pivots, T* inverse,
                           std::span<std::byte> workspace, CUstream_st* stream) const {
  const LuSystemShape& shape = impl_->shape();
  require_dtype<T>("lu", shape.dtype);
  if (shape.n == 0) return;
  require_addresses({{"lu", lu}, {"pivots", pivots}, {"inverse", inverse}}, workspace, workspace_bytes());
  const Gpu& gpu = impl_->gpu();
  const T one(1);
  gpu.clear(inverse, std::size_t(shape.n) * sizeof(T), std::size_t(shape.ldb) * sizeof(T), shape.n, stream);
  gpu.fill(inverse, &one, sizeof(T), shape.n, stream, std::size_t(shape.ldb + 1) * sizeof(T));
  impl_->solve({lu, reinterpret_cast<const long long*>(pivots), inverse, workspace.data()}, stream);
}

struct LuRefinePlan::Impl : DeviceLuRefinement {
  using DeviceLuRefinement::DeviceLuRefinement;
};

LuRefinePlan plan_lu_refine(Context& context, const LuProblem& factors, Op op, std::int64_t nrhs,
                            const LuRefineLayout& layout, int steps, const LuOptions& options) {
  validate_factors(factors, options);
  validate_op(op);
  validate_size("nrhs", nrhs);
  validate_extent(factors.n, factors.n, "lda", layout.lda, factors.dtype);
  validate_extent(factors.n, nrhs, "ldb", layout.ldb, factors.dtype);
  validate_extent(factors.n, nrhs, "ldx", layout.ldx, factors.dtype);
  validate_size("steps", steps);
  const LuRefineShape shape{factors.dtype, op,         factors.n,  nrhs, layout.lda,
                            factors.lda,   layout.ldb, layout.ldx, steps};
  return Access::make<LuRefinePlan>(std::make_shared<LuRefinePlan::Impl>(
      LuMachines::of(Access::impl(context)).tools(options.device), shape));
}

std::int64_t LuRefinePlan::workspace_bytes() const noexcept { return impl_->workspace_bytes(); }

template <class T>
void LuRefinePlan::refine(const T* a, const T* lu, const std::int64_t* pivots, const T* b, T* x,
                          double* backward_errors, std::span<std::byte> workspace,
                          CUstream_st* stream) const {
  const LuRefineShape& shape = impl_->shape();
  require_dtype<T>("a", shape.dtype);
  if (shape.n == 0 || shape.nrhs == 0) return;
  require_addresses(
      {{"a", a}, {"lu", lu}, {"pivots", pivots}, {"b", b}, {"x", x}, {"backward_errors", backward_errors}},
      workspace, workspace_bytes());
  impl_->refine({a, lu, reinterpret_cast<const long long*>(pivots), b, x, backward_errors, workspace.data()},
                stream);
}

#define TILEWRIGHT_INSTANTIATE(T)                                                                            \
  template void LuSolvePlan::solve(const T*, const std::int64_t*, T*, std::span<std::byte>, CUstream_st*)    \
      const;                                                                                                 \
  template void LuInversePlan::invert(const T*, const std::int64_t*, T*, std::span<std::byte>, CUstream_st*) \
      const;                                                                                                 \
  template void LuRefinePlan::refine(const T*, const T*, const std::int64_t*, const T*, T*, double*,         \
                                     std::span<std::byte>, CUstream_st*) const;
TILEWRIGHT_INSTANTIATE(float)
TILEWRIGHT_INSTANTIATE(double)
TILEWRIGHT_INSTANTIATE(std::complex<float>)
TILEWRIGHT_INSTANTIATE(std::complex<double>)
#undef TILEWRIGHT_INSTANTIATE

}  // namespace tilewright
