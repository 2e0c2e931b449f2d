// LU behind the C interface.
#include "tilewright/lu.hpp"

#include <algorithm>
#include <complex>

#include "c_handles.hpp"
#include "core/dispatch.hpp"
#include "lu/calls.hpp"
#include "lu_options.hpp"
#include "sized.hpp"

namespace tilewright {

LuOptions to_lu_options(const tilewright_lu_options* given) {
  const Sized<tilewright_lu_options> options("options", given);
  LuOptions result;
  if (options == nullptr) return result;
  result.target = to_enum<Target>("target", options->target, TILEWRIGHT_TARGET_HYBRID);
  result.threads = options->threads;
  if (options->candidate != nullptr) result.candidate = options->candidate;
  result.nb = options->nb;
  result.select = to_enum<LuSelect>("select", options->select, TILEWRIGHT_LU_SELECT_FLOPS);
  result.gpus = to_gpus(options->gpus, options->gpu_count);
  result.gpu_memory_bytes = options->gpu_memory_bytes;
  result.on_device_failure = to_enum<OnDeviceFailure>("on_device_failure", options->on_device_failure,
                                                      TILEWRIGHT_ON_DEVICE_FAILURE_REDO);
  result.device = options->device;
  return result;
}

}  // namespace tilewright

using namespace tilewright;  // NOLINT: the functions below are the C names of what is above

tilewright_status tilewright_lu_factor(tilewright_context* context, tilewright_dtype dtype, int64_t m,
                                       int64_t n, void* a, int64_t lda, int64_t* pivots, int64_t* info,
                                       const tilewright_lu_options* options) {
  return with_context(context, [&](Context& ctx) {
    require_address("info", info);
    dispatch(to_dtype(dtype), [&]<class T>() {
      *info = lu_factor(ctx, m, n, static_cast<T*>(a), lda, pivots, to_lu_options(options)).info;
    });
  });
}

tilewright_status tilewright_lu_solve(tilewright_context* context, tilewright_dtype dtype, tilewright_op op,
                                      int64_t n, int64_t nrhs, const void* a, int64_t lda,
                                      const int64_t* pivots, void* b, int64_t ldb,
                                      const tilewright_lu_options* options) {
  return with_context(context, [&](Context& ctx) {
    dispatch(to_dtype(dtype), [&]<class T>() {
      lu_solve(ctx, to_op(op), n, nrhs, static_cast<const T*>(a), lda, pivots, static_cast<T*>(b), ldb,
               to_lu_options(options));
    });
  });
}

tilewright_status tilewright_lu_inverse(tilewright_context* context, tilewright_dtype dtype, int64_t n,
                                        void* a, int64_t lda, const int64_t* pivots, int64_t* info,
                                        const tilewright_lu_options* options) {
  return with_context(context, [&](Context& ctx) {
    require_address("info", info);
    dispatch(to_dtype(dtype), [&]<class T>() {
      *info = lu_inverse(ctx, n, static_cast<T*>(a), lda, pivots, to_lu_options(options)).info;
    });
  });
}

tilewright_status tilewright_lu_refine(tilewright_context* context, tilewright_dtype dtype, tilewright_op op,
                                       int64_t n, int64_t nrhs, const void* a, int64_t lda, const void* lu,
                                       int64_t ldlu, const int64_t* pivots, const void* b, int64_t ldb,
                                       void* x, int64_t ldx, double* backward_errors,
                                       const tilewright_lu_options* options) {
  return with_context(context, [&](Context& ctx) {
    if (nrhs > 0) require_address("backward_errors", backward_errors);
    dispatch(to_dtype(dtype), [&]<class T>() {
      const LuRefinement result =
          lu_refine(ctx, to_op(op), n, nrhs, static_cast<const T*>(a), lda, static_cast<const T*>(lu), ldlu,
                    pivots, static_cast<const T*>(b), ldb, static_cast<T*>(x), ldx, to_lu_options(options));
      std::ranges::copy(result.backward_errors, backward_errors);
    });
  });
}
