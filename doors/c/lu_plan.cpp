// Plans of LU behind the C interface: one handle for the three kinds.
#include <fmt/format.h>

#include <algorithm>
#include <complex>
#include <variant>

#include "c_handles.hpp"
#include "core/dispatch.hpp"
#include "lu_options.hpp"
#include "tilewright/lu.hpp"

struct tilewright_lu_plan {
  std::variant<tilewright::LuPlan, tilewright::LuSolvePlan, tilewright::LuInversePlan,
               tilewright::LuRefinePlan>
      plan;
  tilewright::DType dtype;
  std::string text;
  mutable tilewright::LastErrors errors;
};

namespace tilewright {
namespace {

template <class Make>
tilewright_status create(tilewright_context* context, tilewright_dtype dtype, tilewright_lu_plan** plan,
                         Make&& make) {
  return with_context(context, [&](Context& ctx) {
    if (plan == nullptr) refuse("plan", "plan is null");
    *plan = nullptr;
    auto made = make(ctx, to_dtype(dtype));
    std::string text;
    if constexpr (std::is_same_v<decltype(made), LuPlan>) text = made.explain();
    *plan = new tilewright_lu_plan{std::move(made), to_dtype(dtype), std::move(text), {}};
  });
}

// `use(plan, T)` of a plan of this kind.
template <class Kind, class Use>
tilewright_status run(const tilewright_lu_plan* handle, const char* what, Use&& use) {
  if (handle == nullptr) return TILEWRIGHT_INVALID_ARGUMENT;
  return guarded(handle->errors, [&] {
    const auto* plan = std::get_if<Kind>(&handle->plan);
    if (plan == nullptr) refuse("plan", fmt::format("plan is not one of {}", what));
    dispatch(handle->dtype, [&]<class T>() { use(*plan, T()); });
  });
}

// C callers have asked the plan how long it has to be.
template <class Plan>
std::span<std::byte> room_of(const Plan& plan, void* workspace) {
  if (workspace == nullptr) return {};
  return {static_cast<std::byte*>(workspace), std::size_t(plan.workspace_bytes())};
}

CUstream_st* queue(void* stream) { return static_cast<CUstream_st*>(stream); }

}  // namespace
}  // namespace tilewright

using namespace tilewright;  // NOLINT: the functions below are the C names of what is above

tilewright_status tilewright_lu_plan_create(tilewright_context* context, tilewright_dtype dtype, int64_t m,
                                            int64_t n, int64_t lda, const tilewright_lu_options* options,
                                            tilewright_lu_plan** plan) {
  return create(context, dtype, plan, [&](Context& ctx, DType type) {
    return plan_lu(ctx, {type, m, n, lda, Location::device}, to_lu_options(options));
  });
}

tilewright_status tilewright_lu_solve_plan_create(tilewright_context* context, tilewright_dtype dtype,
                                                  tilewright_op op, int64_t n, int64_t nrhs, int64_t lda,
                                                  int64_t ldb, const tilewright_lu_options* options,
                                                  tilewright_lu_plan** plan) {
  return create(context, dtype, plan, [&](Context& ctx, DType type) {
    return plan_lu_solve(ctx, {type, n, n, lda, Location::device}, to_op(op), nrhs, ldb,
                         to_lu_options(options));
  });
}

tilewright_status tilewright_lu_inverse_plan_create(tilewright_context* context, tilewright_dtype dtype,
                                                    int64_t n, int64_t lda, int64_t ldinv,
                                                    const tilewright_lu_options* options,
                                                    tilewright_lu_plan** plan) {
  return create(context, dtype, plan, [&](Context& ctx, DType type) {
    return plan_lu_inverse(ctx, {type, n, n, lda, Location::device}, ldinv, to_lu_options(options));
  });
}

tilewright_status tilewright_lu_refine_plan_create(tilewright_context* context, tilewright_dtype dtype,
                                                   tilewright_op op, int64_t n, int64_t nrhs, int64_t lda,
                                                   int64_t ldlu, int64_t ldb, int64_t ldx, int steps,
                                                   const tilewright_lu_options* options,
                                                   tilewright_lu_plan** plan) {
  return create(context, dtype, plan, [&](Context& ctx, DType type) {
    if (ldlu < std::max<std::int64_t>(1, n)) refuse("ldlu", short_ld_text("ldlu", ldlu, n, "LU"));
    return plan_lu_refine(ctx, {type, n, n, ldlu, Location::device}, to_op(op), nrhs, {lda, ldb, ldx}, steps,
                          to_lu_options(options));
  });
}

void tilewright_lu_plan_destroy(tilewright_lu_plan* plan) { delete plan; }

int64_t tilewright_lu_plan_workspace_bytes(const tilewright_lu_plan* plan) {
  return plan == nullptr ? 0 : std::visit([](const auto& one) { return one.workspace_bytes(); }, plan->plan);
}

const char* tilewright_lu_plan_explain(const tilewright_lu_plan* plan) {
  return plan == nullptr ? "" : plan->text.c_str();
}

tilewright_status tilewright_lu_plan_factor(const tilewright_lu_plan* plan, void* a, int64_t* pivots,
                                            int64_t* info, void* workspace, void* stream) {
  return run<LuPlan>(plan, "a factorization", [&]<class T>(const LuPlan& lu, T) {
    lu.factor(static_cast<T*>(a), pivots, info, room_of(lu, workspace), queue(stream));
  });
}

tilewright_status tilewright_lu_plan_solve(const tilewright_lu_plan* plan, const void* lu,
                                           const int64_t* pivots, void* b, void* workspace, void* stream) {
  return run<LuSolvePlan>(plan, "a system", [&]<class T>(const LuSolvePlan& system, T) {
    system.solve(static_cast<const T*>(lu), pivots, static_cast<T*>(b), room_of(system, workspace),
                 queue(stream));
  });
}

tilewright_status tilewright_lu_plan_invert(const tilewright_lu_plan* plan, const void* lu,
                                            const int64_t* pivots, void* inverse, void* workspace,
                                            void* stream) {
  return run<LuInversePlan>(plan, "an inverse", [&]<class T>(const LuInversePlan& one, T) {
    one.invert(static_cast<const T*>(lu), pivots, static_cast<T*>(inverse), room_of(one, workspace),
               queue(stream));
  });
}

tilewright_status tilewright_lu_plan_refine(const tilewright_lu_plan* plan, const void* a, const void* lu,
                                            const int64_t* pivots, const void* b, void* x,
                                            double* backward_errors, void* workspace, void* stream) {
  return run<LuRefinePlan>(plan, "a refinement", [&]<class T>(const LuRefinePlan& one, T) {
    one.refine(static_cast<const T*>(a), static_cast<const T*>(lu), pivots, static_cast<const T*>(b),
               static_cast<T*>(x), backward_errors, room_of(one, workspace), queue(stream));
  });
}

const char* tilewright_lu_plan_last_error(const tilewright_lu_plan* plan) {
  return plan == nullptr ? "plan is null" : plan->errors.get();
}
