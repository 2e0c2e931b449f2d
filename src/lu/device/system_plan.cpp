// Plans for systems, inverses and refinement by factors in the memory of a GPU.
#include <algorithm>
#include <complex>

#include "core/dispatch.hpp"
#include "lu/device/machines.hpp"
#include "lu/device/plan_arguments.hpp"
#include "lu/device/refinement.hpp"
#include "lu/device/system.hpp"
#include "lu/validate.hpp"

namespace tilewright {
namespace {

void validate_factors(const LuProblem& factors, const LuOptions& options) {
  validate(factors);
  validate(options);
  if (factors.m != factors.n)
    throw Error(ErrorCode::invalid_argument, "factors",
                fmt::format("factors of {} x {} are not square", factors.m, factors.n));
}

void validate_ld(const char* name, std::int64_t ld, std::int64_t rows) {
  if (ld < std::max<std::int64_t>(1, rows))
    throw Error(ErrorCode::invalid_argument, name,
                fmt::format("{} = {} is less than max(1, {} rows)", name, ld, rows));
}

}  // namespace

struct LuSolvePlan::Impl {
  std::unique_ptr<DeviceLuSystem> system;
};

LuSolvePlan plan_lu_solve(Context& context, const LuProblem& factors, Op op, std::int64_t nrhs,
                          std::int64_t ldb, const LuOptions& options) {
  validate_factors(factors, options);
  validate_op(op);
  validate_size("nrhs", nrhs);
  validate_ld("ldb", ldb, factors.n);
  auto impl = std::make_shared<LuSolvePlan::Impl>();
  const LuSystemShape shape{factors.dtype, op, factors.n, nrhs, factors.lda, ldb};
  impl->system =
      std::make_unique<DeviceLuSystem>(LuMachines::of(Access::impl(context)).tools(options.device), shape);
  return Access::make<LuSolvePlan>(impl);
}

std::int64_t LuSolvePlan::workspace_bytes() const noexcept { return impl_->system->workspace_bytes(); }

template <class T>
void LuSolvePlan::solve(const T* lu, const std::int64_t* pivots, T* b, std::span<std::byte> workspace,
                        CUstream_st* stream) const {
  const LuSystemShape& shape = impl_->system->shape();
  require_dtype<T>("lu", shape.dtype);
  if (shape.n == 0 || shape.nrhs == 0) return;
  require_address("lu", lu);
  require_address("pivots", pivots);
  require_address("b", b);
  require_workspace(workspace, workspace_bytes());
  impl_->system->solve({lu, reinterpret_cast<const long long*>(pivots), b, workspace.data()}, stream);
}

struct LuInversePlan::Impl {
  std::shared_ptr<LuTools> tools;
  std::unique_ptr<DeviceLuSystem> system;  // whose right-hand sides are the identity
};

LuInversePlan plan_lu_inverse(Context& context, const LuProblem& factors, std::int64_t ldinv,
                              const LuOptions& options) {
  validate_factors(factors, options);
  validate_ld("ldinv", ldinv, factors.n);
  auto impl = std::make_shared<LuInversePlan::Impl>();
  impl->tools = LuMachines::of(Access::impl(context)).tools(options.device);
  impl->system = std::make_unique<DeviceLuSystem>(
      impl->tools, LuSystemShape{factors.dtype, Op::none, factors.n, factors.n, factors.lda, ldinv});
  return Access::make<LuInversePlan>(impl);
}

std::int64_t LuInversePlan::workspace_bytes() const noexcept { return impl_->system->workspace_bytes(); }

template <class T>
void LuInversePlan::invert(const T* lu, const std::int64_t* pivots, T* inverse,
                           std::span<std::byte> workspace, CUstream_st* stream) const {
  const LuSystemShape& shape = impl_->system->shape();
  require_dtype<T>("lu", shape.dtype);
  if (shape.n == 0) return;
  require_address("lu", lu);
  require_address("pivots", pivots);
  require_address("inverse", inverse);
  require_workspace(workspace, workspace_bytes());
  auto* const queue = stream;
  const Gpu& gpu = impl_->tools->gpu();
  const T one(1);
  gpu.clear(inverse, std::size_t(shape.n) * sizeof(T), std::size_t(shape.ldb) * sizeof(T), shape.n, queue);
  gpu.fill(inverse, &one, sizeof(T), shape.n, queue, std::size_t(shape.ldb + 1) * sizeof(T));
  impl_->system->solve({lu, reinterpret_cast<const long long*>(pivots), inverse, workspace.data()}, queue);
}

struct LuRefinePlan::Impl {
  std::unique_ptr<DeviceLuRefinement> refinement;
};

LuRefinePlan plan_lu_refine(Context& context, const LuProblem& factors, Op op, std::int64_t nrhs,
                            const LuRefineLayout& layout, int steps, const LuOptions& options) {
  validate_factors(factors, options);
  validate_op(op);
  validate_size("nrhs", nrhs);
  validate_ld("lda", layout.lda, factors.n);
  validate_ld("ldb", layout.ldb, factors.n);
  validate_ld("ldx", layout.ldx, factors.n);
  validate_size("steps", steps);
  auto impl = std::make_shared<LuRefinePlan::Impl>();
  const LuRefineShape shape{factors.dtype, op,         factors.n,  nrhs, layout.lda,
                            factors.lda,   layout.ldb, layout.ldx, steps};
  impl->refinement = std::make_unique<DeviceLuRefinement>(
      LuMachines::of(Access::impl(context)).tools(options.device), shape);
  return Access::make<LuRefinePlan>(impl);
}

std::int64_t LuRefinePlan::workspace_bytes() const noexcept { return impl_->refinement->workspace_bytes(); }

template <class T>
void LuRefinePlan::refine(const T* a, const T* lu, const std::int64_t* pivots, const T* b, T* x,
                          double* backward_errors, std::span<std::byte> workspace,
                          CUstream_st* stream) const {
  const LuRefineShape& shape = impl_->refinement->shape();
  require_dtype<T>("a", shape.dtype);
  if (shape.n == 0 || shape.nrhs == 0) return;
  require_address("a", a);
  require_address("lu", lu);
  require_address("pivots", pivots);
  require_address("b", b);
  require_address("x", x);
  require_address("backward_errors", backward_errors);
  require_workspace(workspace, workspace_bytes());
  impl_->refinement->refine(
      {a, lu, reinterpret_cast<const long long*>(pivots), b, x, backward_errors, workspace.data()}, stream);
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
