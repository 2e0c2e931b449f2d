// Batched factorizations and solves of views for the four element types.
#include <algorithm>
#include <cmath>
#include <complex>

#include "core/dispatch.hpp"
#include "factor/call.hpp"
#include "factor/candidates.hpp"

namespace tilewright {
namespace {

template <class T, Location L>
FactorOperand operand_of(const char* name, const MatrixBatch<T, L>& x) {
  FactorOperand same;
  same.name = name, same.element_bytes = std::int64_t(sizeof(T));
  same.data = reinterpret_cast<char*>(const_cast<std::remove_const_t<T>*>(x.data));
  same.pointers = reinterpret_cast<void* const*>(const_cast<std::remove_const_t<T>* const*>(x.pointers));
  same.rows = x.rows, same.cols = x.cols, same.row_stride = x.row_stride, same.col_stride = x.col_stride;
  same.block = x.block;
  for (std::size_t i = 0; i < x.level_count; ++i)
    if (x.levels[i].count != 1) same.levels[same.level_count++] = {x.levels[i].count, x.levels[i].stride};
  return same;
}

// The names of b, as the callers of a routine know it.
const char* name_of_b(Routine routine) {
  if (routine == Routine::potrf) return "factor";
  if (routine == Routine::inv) return "inverse";
  if (routine == Routine::syev) return "vectors";
  return routine == Routine::gesvd ? "u" : "b";
}

// The numbers that the problems of a routine have, as its callers know them; of type T but for real values.
template <class T, Location L>
FactorValues values_of(const detail::FactorCall<T, L>& call, std::int64_t steps) {
  FactorValues values;
  values.out = static_cast<char*>(call.values_out), values.in = static_cast<const char*>(call.values_in);
  values.bytes = std::int64_t(sizeof(T));
  switch (call.routine) {
    case Routine::det:
      values.name = "det", values.count = 1;
      break;
    case Routine::geqrf:
    case Routine::ormqr:
      values.name = "tau", values.count = steps;
      break;
    case Routine::syev:
    case Routine::gesvd:
      values.name = "values", values.count = steps, values.bytes = std::int64_t(sizeof(std::abs(T())));
      break;
    default:
      break;
  }
  return values;
}

bool is_in_place(Routine r) {
  return r == Routine::potrf || r == Routine::potri || r == Routine::getrf || r == Routine::getri ||
         r == Routine::geqrf;
}

template <class T, Location L>
FactorWork work_of(const detail::FactorCall<T, L>& call, const FactorOptions& options) {
  FactorWork work;
  work.location = L, work.queue = options.queue;
  work.writes_a = is_in_place(call.routine) && !call.keeps_a;
  const bool decomposes = call.routine == Routine::syev || call.routine == Routine::gesvd;
  work.has_b = decomposes ? call.vectors : !work.writes_a && call.routine != Routine::det;
  work.has_c = call.routine == Routine::gesvd && call.vectors;
  work.a = work.writes_a ? operand_of("a", call.b) : operand_of("a", call.a);
  if (work.has_b) work.b = operand_of(name_of_b(call.routine), call.b);
  if (work.has_c) work.c = operand_of("vh", call.c);
  work.count = work.a.count();
  LaneShape& s = work.shape;
  s.routine = call.routine, s.dtype = dtype_of<T>, s.m = work.a.rows, s.n = work.a.cols;
  s.uplo = call.uplo, s.side = call.side, s.op = call.op, s.diag = call.diag, s.pivoting = options.pivoting;
  s.vectors = call.vectors;
  if (work.has_b) s.nrhs = s.side == Side::right ? work.b.rows : work.b.cols;
  const bool pivots = s.pivoting == Pivoting::partial;
  work.pivots_out = pivots ? call.pivots_out : nullptr, work.pivots_in = pivots ? call.pivots_in : nullptr;
  work.values = values_of(call, work.steps()), work.alpha = &call.alpha, work.info = call.info;
  return work;
}

// Writes the results of a call without elements: no infos, and determinants of 1.
template <class T, Location L>
void finish_empty(const FactorWork& work, const detail::FactorCall<T, L>& call) {
  if (call.info.mode == InfoMode::all)
    std::fill_n(call.info.codes, work.count, 0);
  else if (call.info.mode != InfoMode::none)
    *call.info.codes = 0;
  if (call.routine == Routine::det) std::fill_n(static_cast<T*>(call.values_out), work.count, T(1));
}

}  // namespace

namespace detail {

template <class T, Location L>
void factor(Context& context, const FactorCall<T, L>& call, const FactorOptions& options) {
  const FactorWork work = work_of(call, options);
  validate_factor(work, call.pivot_places, call.value_places, options);
  const bool is_empty = work.shape.m == 0 || work.shape.n == 0 || (work.has_b && work.shape.nrhs == 0);
  if (work.count == 0 || is_empty) {
    if constexpr (L == Location::device) return finish_empty_on_device(context, work);
    return finish_empty(work, call);
  }
  run_factor({context, work, options});
}

#define TILEWRIGHT_INSTANTIATE(T)                                                             \
  template void factor(Context&, const FactorCall<T, Location::host>&, const FactorOptions&); \
  template void factor(Context&, const FactorCall<T, Location::device>&, const FactorOptions&);
TILEWRIGHT_FOR_TYPES(TILEWRIGHT_INSTANTIATE)
#undef TILEWRIGHT_INSTANTIATE

}  // namespace detail
}  // namespace tilewright
