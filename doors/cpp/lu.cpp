// LU of views for the four element types: shapes that do not fit are refused in the words of this door, and
// the rest is LAPACK's call (lu/calls.hpp).
#include <fmt/format.h>

#include <algorithm>

#include "core/dispatch.hpp"
#include "core/refuse.hpp"
#include "lu/calls.hpp"

namespace tilewright {
namespace {

template <class View>
void check_square(const char* name, const View& x) {
  if (x.rows != x.cols)
    refuse_argument(name, fmt::format("{} is {} x {}, but only square factors solve", name, x.rows, x.cols));
}

template <class View>
void check_rows(const char* name, const View& x, std::int64_t n) {
  if (x.rows != n)
    refuse_argument(name,
                    fmt::format("{} has {} rows, but the matrix that was factored has {}", name, x.rows, n));
}

// A null span of no places stands where there is no pivot.
template <class Span>
void check_pivots(const Span& pivots, std::int64_t needed) {
  if (std::int64_t(pivots.size()) < needed)
    refuse_argument("pivots",
                    fmt::format("pivots has {} elements, but there are {} pivots", pivots.size(), needed));
}

}  // namespace

template <class T>
LuReport lu_factor(Context& context, MatrixView<T> a, std::span<std::int64_t> pivots,
                   const LuOptions& options) {
  check_pivots(pivots, std::min(a.rows, a.cols));
  return lu_factor(context, a.rows, a.cols, a.data, a.ld, pivots.data(), options);
}

template <class T>
void lu_solve(Context& context, Op op, MatrixView<const Same<T>> a, std::span<const std::int64_t> pivots,
              MatrixView<T> b, const LuOptions& options) {
  check_square("a", a), check_rows("b", b, a.rows), check_pivots(pivots, a.rows);
  lu_solve(context, op, a.rows, b.cols, a.data, a.ld, pivots.data(), b.data, b.ld, options);
}

template <class T>
LuReport lu_inverse(Context& context, MatrixView<T> a, std::span<const std::int64_t> pivots,
                    const LuOptions& options) {
  check_square("a", a), check_pivots(pivots, a.rows);
  return lu_inverse(context, a.rows, a.data, a.ld, pivots.data(), options);
}

template <class T>
LuRefinement lu_refine(Context& context, Op op, MatrixView<const Same<T>> a, MatrixView<const Same<T>> lu,
                       std::span<const std::int64_t> pivots, MatrixView<const Same<T>> b, MatrixView<T> x,
                       const LuOptions& options) {
  check_square("a", a), check_square("lu", lu);
  check_rows("a", a, lu.rows), check_rows("b", b, lu.rows), check_rows("x", x, lu.rows);
  check_pivots(pivots, lu.rows);
  if (x.cols != b.cols)
    refuse_argument("x", fmt::format("the columns of x and b differ: {}, {}", x.cols, b.cols));
  return lu_refine(context, op, lu.rows, b.cols, a.data, a.ld, lu.data, lu.ld, pivots.data(), b.data, b.ld,
                   x.data, x.ld, options);
}

#define TILEWRIGHT_INSTANTIATE(T)                                                                         \
  template LuReport lu_factor(Context&, MatrixView<T>, std::span<std::int64_t>, const LuOptions&);        \
  template void lu_solve(Context&, Op, MatrixView<const T>, std::span<const std::int64_t>, MatrixView<T>, \
                         const LuOptions&);                                                               \
  template LuReport lu_inverse(Context&, MatrixView<T>, std::span<const std::int64_t>, const LuOptions&); \
  template LuRefinement lu_refine(Context&, Op, MatrixView<const T>, MatrixView<const T>,                 \
                                  std::span<const std::int64_t>, MatrixView<const T>, MatrixView<T>,      \
                                  const LuOptions&);
TILEWRIGHT_FOR_TYPES(TILEWRIGHT_INSTANTIATE)
#undef TILEWRIGHT_INSTANTIATE

}  // namespace tilewright
