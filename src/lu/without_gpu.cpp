// Builds without GPU sources refuse plans of matrices in device memory.
#include <cstdlib>

#include "core/dispatch.hpp"
#include "lu/device/plan.hpp"

#if !TILEWRIGHT_HAS_GPU

namespace tilewright {
namespace {

[[noreturn]] void refuse_without_gpu() {
  throw Error(ErrorCode::unsupported, "device", "this build has no GPU runtime");
}

}  // namespace

struct LuPlan::Impl {};
struct LuSolvePlan::Impl {};
struct LuInversePlan::Impl {};
struct LuRefinePlan::Impl {};

std::span<const Candidate<DeviceLuOperation>> device_lu_candidates() { return {}; }
Explanation device_lu_explanation(Context&, const LuProblem&, const LuOptions&) { refuse_without_gpu(); }
LuPlan plan_lu(Context&, const LuProblem&, const LuOptions&) { refuse_without_gpu(); }
const LuProblem& LuPlan::problem() const noexcept { std::abort(); }  // there is no plan
std::string LuPlan::explain() const { refuse_without_gpu(); }
std::int64_t LuPlan::workspace_bytes() const noexcept { return 0; }
template <class T>
void LuPlan::factor(T*, std::int64_t*, std::int64_t*, std::span<std::byte>, CUstream_st*) const {
  refuse_without_gpu();
}
LuSolvePlan plan_lu_solve(Context&, const LuProblem&, Op, std::int64_t, std::int64_t, const LuOptions&) {
  refuse_without_gpu();
}
std::int64_t LuSolvePlan::workspace_bytes() const noexcept { return 0; }
template <class T>
void LuSolvePlan::solve(const T*, const std::int64_t*, T*, std::span<std::byte>, CUstream_st*) const {
  refuse_without_gpu();
}

LuInversePlan plan_lu_inverse(Context&, const LuProblem&, std::int64_t, const LuOptions&) {
  refuse_without_gpu();
}
std::int64_t LuInversePlan::workspace_bytes() const noexcept { return 0; }
template <class T>
void LuInversePlan::invert(const T*, const std::int64_t*, T*, std::span<std::byte>, CUstream_st*) const {
  refuse_without_gpu();
}

LuRefinePlan plan_lu_refine(Context&, const LuProblem&, Op, std::int64_t, const LuRefineLayout&, int,
                            const LuOptions&) {
  refuse_without_gpu();
}
std::int64_t LuRefinePlan::workspace_bytes() const noexcept { return 0; }
template <class T>
void LuRefinePlan::refine(const T*, const T*, const std::int64_t*, const T*, T*, double*,
                          std::span<std::byte>, CUstream_st*) const {
  refuse_without_gpu();
}

#define TILEWRIGHT_INSTANTIATE(T)                                                                           \
  template void LuPlan::factor(T*, std::int64_t*, std::int64_t*, std::span<std::byte>, CUstream_st*) const; \
  TILEWRIGHT_LU_SYSTEMS(T)
TILEWRIGHT_FOR_TYPES(TILEWRIGHT_INSTANTIATE)
#undef TILEWRIGHT_INSTANTIATE

}  // namespace tilewright

#endif
