// Batched factorizations, systems, least squares, inverses, determinants, eigenvalues and singular values
// behind the C interface.
#include "tilewright/factor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <complex>
#include <cstdint>
#include <limits>
#include <span>

#include "c_call.hpp"
#include "c_handles.hpp"
#include "core/dispatch.hpp"
#include "core/fields.hpp"
#include "factor/call.hpp"
#include "sized.hpp"

namespace tilewright {

// The layouts of tilewright_batch_layout.
enum class BatchLayout : std::uint8_t { strided, pointer, interleaved };
TILEWRIGHT_NAMES(BatchLayout, "strided", "pointer", "interleaved");

namespace {

FactorOptions to_factor_options(const tilewright_factor_options* given) {
  const Sized<tilewright_factor_options> options("options", given);
  FactorOptions result;
  if (options == nullptr) return result;
  result.pivoting = to_enum<Pivoting>("pivoting", options->pivoting, TILEWRIGHT_PIVOTING_NONE);
  result.threads = options->threads;
  if (options->candidate != nullptr) result.candidate = options->candidate;
  result.queue = {options->device, static_cast<CUstream_st*>(options->stream)};
  return result;
}

Location factor_location(const tilewright_factor_options* given) {
  const Sized<tilewright_factor_options> options("options", given);
  return options == nullptr ? Location::host
                            : to_enum<Location>("location", options->location, TILEWRIGHT_DEVICE);
}

// The addresses of a batch that has elements.
void require_elements(const char* name, const tilewright_matrix_batch& x, BatchLayout layout) {
  if (x.rows <= 0 || x.cols <= 0 || x.count <= 0) return;
  const bool points = layout == BatchLayout::pointer;
  if (points ? x.pointers == nullptr : x.data == nullptr)
    refuse(name, fmt::format("{}.{} is null", name, points ? "pointers" : "data"));
}

// `name` is the argument's name in the call.
template <class T, Location L>
MatrixBatch<T, L> to_batch(const char* name, const tilewright_matrix_batch* given) {
  require_address(name, given);
  const Sized<tilewright_matrix_batch> x(name, given);
  const auto layout = BatchLayout(x->layout);
  if (x->layout < 0 || x->layout > TILEWRIGHT_BATCH_INTERLEAVED)
    refuse(name, unnamed_text<BatchLayout>(fmt::format("{}.layout", name), x->layout));
  require_elements(name, *x, layout);
  MatrixBatch<T, L> batch;
  batch.rows = x->rows, batch.cols = x->cols;
  batch.row_stride = x->row_stride == 0 ? 1 : x->row_stride;
  batch.col_stride = x->col_stride == 0 ? x->rows : x->col_stride;
  batch.level_count = 1;
  batch.levels[0] = {x->count, layout == BatchLayout::strided ? x->matrix_stride : 0};
  if (layout == BatchLayout::pointer)
    batch.pointers = reinterpret_cast<T* const*>(x->pointers);
  else
    batch.data = static_cast<T*>(x->data);
  if (layout == BatchLayout::interleaved)
    batch.block = x->block == 0 ? std::max<std::int64_t>(1, x->count) : x->block;
  if (layout != BatchLayout::strided && batch.row_stride != 1)
    refuse(name, fmt::format("{}.row_stride = {} must be 1 in a batch whose layout is {}", name,
                             batch.row_stride, to_string(layout)));
  return batch;
}

Uplo to_uplo(int value) { return to_enum<Uplo>("uplo", value, TILEWRIGHT_UPPER); }

// Arrays come without their sizes, and are long enough if they are there; they may be null if nothing is read
// or written. Each problem has one place, or one for each row or column of its square part.
enum class Places : std::uint8_t { one, steps };
template <class T>
std::span<T> places_at(const char* name, T* array, const tilewright_matrix_batch* a, Places of_each) {
  constexpr auto most = std::size_t(std::numeric_limits<std::int64_t>::max()) / sizeof(T);
  const bool is_used =
      a != nullptr && a->count > 0 && (of_each == Places::one || (a->rows > 0 && a->cols > 0));
  if (is_used) require_address(name, array);
  return {array, array == nullptr ? 0 : most};
}
template <class I>
std::span<I> pivot_places(I* pivots, const tilewright_matrix_batch* a, const FactorOptions& options) {
  if (options.pivoting == Pivoting::none) return {};
  return places_at("pivots", pivots, a, Places::steps);
}

// Runs f.operator()<T, location>(context, options, info).
template <class F>
tilewright_status run_factor_routine(tilewright_context* handle, int dtype,
                                     const tilewright_factor_options* given, int info_mode, int* info,
                                     F&& f) {
  return with_context(handle, [&](Context& context) {
    const FactorOptions options = to_factor_options(given);
    const Location location = factor_location(given);
    const BatchInfo codes = to_info(info_mode, info);
    dispatch(to_dtype(dtype), [&]<class T>() {
      if (location == Location::device)
        f.template operator()<T, Location::device>(context, options, codes);
      else
        f.template operator()<T, Location::host>(context, options, codes);
    });
  });
}

}  // namespace
}  // namespace tilewright

using namespace tilewright;  // NOLINT: the functions below are the C names of what is above

tilewright_status tilewright_potrf_batched(tilewright_context* context, tilewright_dtype dtype,
                                           tilewright_uplo uplo, const tilewright_matrix_batch* a,
                                           const tilewright_factor_options* options,
                                           tilewright_info_mode info_mode, int* info) {
  return run_factor_routine(
      context, dtype, options, info_mode, info,
      [&]<class T, Location L>(Context& ctx, const FactorOptions& how, BatchInfo codes) {
        potrf_batched(ctx, to_uplo(uplo), to_batch<T, L>("a", a), codes, how);
      });
}

tilewright_status tilewright_potrs_batched(tilewright_context* context, tilewright_dtype dtype,
                                           tilewright_uplo uplo, const tilewright_matrix_batch* a,
                                           const tilewright_matrix_batch* b,
                                           const tilewright_factor_options* options) {
  return run_factor_routine(context, dtype, options, TILEWRIGHT_INFO_NONE, nullptr,
                            [&]<class T, Location L>(Context& ctx, const FactorOptions& how, BatchInfo) {
                              potrs_batched(ctx, to_uplo(uplo), to_batch<const T, L>("a", a),
                                            to_batch<T, L>("b", b), how);
                            });
}

tilewright_status tilewright_posv_batched(tilewright_context* context, tilewright_dtype dtype,
                                          tilewright_uplo uplo, const tilewright_matrix_batch* a,
                                          const tilewright_matrix_batch* b,
                                          const tilewright_factor_options* options,
                                          tilewright_info_mode info_mode, int* info) {
  return run_factor_routine(
      context, dtype, options, info_mode, info,
      [&]<class T, Location L>(Context& ctx, const FactorOptions& how, BatchInfo codes) {
        posv_batched(ctx, to_uplo(uplo), to_batch<const T, L>("a", a), to_batch<T, L>("b", b), codes, how);
      });
}

tilewright_status tilewright_potri_batched(tilewright_context* context, tilewright_dtype dtype,
                                           tilewright_uplo uplo, const tilewright_matrix_batch* a,
                                           const tilewright_factor_options* options,
                                           tilewright_info_mode info_mode, int* info) {
  return run_factor_routine(
      context, dtype, options, info_mode, info,
      [&]<class T, Location L>(Context& ctx, const FactorOptions& how, BatchInfo codes) {
        potri_batched(ctx, to_uplo(uplo), to_batch<T, L>("a", a), codes, how);
      });
}

tilewright_status tilewright_getrf_batched(tilewright_context* context, tilewright_dtype dtype,
                                           const tilewright_matrix_batch* a, int* pivots,
                                           const tilewright_factor_options* options,
                                           tilewright_info_mode info_mode, int* info) {
  return run_factor_routine(
      context, dtype, options, info_mode, info,
      [&]<class T, Location L>(Context& ctx, const FactorOptions& how, BatchInfo codes) {
        getrf_batched(ctx, to_batch<T, L>("a", a), pivot_places(pivots, a, how), codes, how);
      });
}

tilewright_status tilewright_getrs_batched(tilewright_context* context, tilewright_dtype dtype,
                                           tilewright_op op, const tilewright_matrix_batch* a,
                                           const int* pivots, const tilewright_matrix_batch* b,
                                           const tilewright_factor_options* options) {
  return run_factor_routine(context, dtype, options, TILEWRIGHT_INFO_NONE, nullptr,
                            [&]<class T, Location L>(Context& ctx, const FactorOptions& how, BatchInfo) {
                              getrs_batched(ctx, to_enum<Op>("op", op, TILEWRIGHT_CONJ_TRANS),
                                            to_batch<const T, L>("a", a), pivot_places(pivots, a, how),
                                            to_batch<T, L>("b", b), how);
                            });
}

tilewright_status tilewright_gesv_batched(tilewright_context* context, tilewright_dtype dtype,
                                          const tilewright_matrix_batch* a, const tilewright_matrix_batch* b,
                                          const tilewright_factor_options* options,
                                          tilewright_info_mode info_mode, int* info) {
  return run_factor_routine(
      context, dtype, options, info_mode, info,
      [&]<class T, Location L>(Context& ctx, const FactorOptions& how, BatchInfo codes) {
        gesv_batched(ctx, to_batch<const T, L>("a", a), to_batch<T, L>("b", b), codes, how);
      });
}

tilewright_status tilewright_getri_batched(tilewright_context* context, tilewright_dtype dtype,
                                           const tilewright_matrix_batch* a, const int* pivots,
                                           const tilewright_factor_options* options,
                                           tilewright_info_mode info_mode, int* info) {
  return run_factor_routine(
      context, dtype, options, info_mode, info,
      [&]<class T, Location L>(Context& ctx, const FactorOptions& how, BatchInfo codes) {
        getri_batched(ctx, to_batch<T, L>("a", a), pivot_places(pivots, a, how), codes, how);
      });
}

tilewright_status tilewright_inv_batched(tilewright_context* context, tilewright_dtype dtype,
                                         const tilewright_matrix_batch* a,
                                         const tilewright_matrix_batch* inverse,
                                         const tilewright_factor_options* options,
                                         tilewright_info_mode info_mode, int* info) {
  return run_factor_routine(
      context, dtype, options, info_mode, info,
      [&]<class T, Location L>(Context& ctx, const FactorOptions& how, BatchInfo codes) {
        inv_batched(ctx, to_batch<const T, L>("a", a), to_batch<T, L>("inverse", inverse), codes, how);
      });
}

tilewright_status tilewright_det_batched(tilewright_context* context, tilewright_dtype dtype,
                                         const tilewright_matrix_batch* a, void* det,
                                         const tilewright_factor_options* options) {
  return run_factor_routine(context, dtype, options, TILEWRIGHT_INFO_NONE, nullptr,
                            [&]<class T, Location L>(Context& ctx, const FactorOptions& how, BatchInfo) {
                              det_batched(ctx, to_batch<const T, L>("a", a),
                                          places_at("det", static_cast<T*>(det), a, Places::one), how);
                            });
}

tilewright_status tilewright_trsm_batched(tilewright_context* context, tilewright_dtype dtype,
                                          tilewright_side side, tilewright_uplo uplo, tilewright_op op,
                                          tilewright_diag diag, const void* alpha,
                                          const tilewright_matrix_batch* a, const tilewright_matrix_batch* b,
                                          const tilewright_factor_options* options) {
  return run_factor_routine(context, dtype, options, TILEWRIGHT_INFO_NONE, nullptr,
                            [&]<class T, Location L>(Context& ctx, const FactorOptions& how, BatchInfo) {
                              trsm_batched(ctx, to_enum<Side>("side", side, TILEWRIGHT_RIGHT), to_uplo(uplo),
                                           to_enum<Op>("op", op, TILEWRIGHT_CONJ_TRANS),
                                           to_enum<Diag>("diag", diag, TILEWRIGHT_UNIT),
                                           value_of<T>("alpha", alpha), to_batch<const T, L>("a", a),
                                           to_batch<T, L>("b", b), how);
                            });
}

tilewright_status tilewright_geqrf_batched(tilewright_context* context, tilewright_dtype dtype,
                                           const tilewright_matrix_batch* a, void* tau,
                                           const tilewright_factor_options* options) {
  return run_factor_routine(context, dtype, options, TILEWRIGHT_INFO_NONE, nullptr,
                            [&]<class T, Location L>(Context& ctx, const FactorOptions& how, BatchInfo) {
                              geqrf_batched(ctx, to_batch<T, L>("a", a),
                                            places_at("tau", static_cast<T*>(tau), a, Places::steps), how);
                            });
}

tilewright_status tilewright_ormqr_batched(tilewright_context* context, tilewright_dtype dtype,
                                           tilewright_op op, const tilewright_matrix_batch* a,
                                           const void* tau, const tilewright_matrix_batch* b,
                                           const tilewright_factor_options* options) {
  return run_factor_routine(context, dtype, options, TILEWRIGHT_INFO_NONE, nullptr,
                            [&]<class T, Location L>(Context& ctx, const FactorOptions& how, BatchInfo) {
                              ormqr_batched(ctx, to_enum<Op>("op", op, TILEWRIGHT_CONJ_TRANS),
                                            to_batch<const T, L>("a", a),
                                            places_at("tau", static_cast<const T*>(tau), a, Places::steps),
                                            to_batch<T, L>("b", b), how);
                            });
}

tilewright_status tilewright_gels_batched(tilewright_context* context, tilewright_dtype dtype,
                                          const tilewright_matrix_batch* a, const tilewright_matrix_batch* b,
                                          const tilewright_factor_options* options,
                                          tilewright_info_mode info_mode, int* info) {
  return run_factor_routine(
      context, dtype, options, info_mode, info,
      [&]<class T, Location L>(Context& ctx, const FactorOptions& how, BatchInfo codes) {
        gels_batched(ctx, to_batch<const T, L>("a", a), to_batch<T, L>("b", b), codes, how);
      });
}

tilewright_status tilewright_syev_batched(tilewright_context* context, tilewright_dtype dtype,
                                          tilewright_uplo uplo, const tilewright_matrix_batch* a,
                                          void* values, const tilewright_matrix_batch* vectors,
                                          const tilewright_factor_options* options,
                                          tilewright_info_mode info_mode, int* info) {
  return run_factor_routine(
      context, dtype, options, info_mode, info,
      [&]<class T, Location L>(Context& ctx, const FactorOptions& how, BatchInfo codes) {
        const auto matrices = to_batch<const T, L>("a", a);
        const auto to =
            places_at("values", static_cast<BatchReal<MatrixBatch<T>>*>(values), a, Places::steps);
        if (vectors == nullptr) return syev_batched(ctx, to_uplo(uplo), matrices, to, codes, how);
        syev_batched(ctx, to_uplo(uplo), matrices, to, to_batch<T, L>("vectors", vectors), codes, how);
      });
}

tilewright_status tilewright_gesvd_batched(tilewright_context* context, tilewright_dtype dtype,
                                           const tilewright_matrix_batch* a, void* values,
                                           const tilewright_matrix_batch* u,
                                           const tilewright_matrix_batch* vh,
                                           const tilewright_factor_options* options,
                                           tilewright_info_mode info_mode, int* info) {
  return run_factor_routine(
      context, dtype, options, info_mode, info,
      [&]<class T, Location L>(Context& ctx, const FactorOptions& how, BatchInfo codes) {
        const auto matrices = to_batch<const T, L>("a", a);
        const auto to =
            places_at("values", static_cast<BatchReal<MatrixBatch<T>>*>(values), a, Places::steps);
        if (u == nullptr && vh == nullptr) return gesvd_batched(ctx, matrices, to, codes, how);
        gesvd_batched(ctx, matrices, to, to_batch<T, L>("u", u), to_batch<T, L>("vh", vh), codes, how);
      });
}
