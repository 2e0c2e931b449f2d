// Checks of a batched factorization or solve, in the order of its arguments.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <vector>

#include "core/fields.hpp"
#include "core/input/checked.hpp"
#include "core/product/overlap.hpp"
#include "core/refuse.hpp"
#include "device/team.hpp"
#include "factor/call.hpp"
#include "factor/candidates.hpp"

namespace tilewright {
namespace {

void refuse_batch(const FactorOperand& x, const std::string& fault) {
  refuse_argument(x.name, fmt::format("{} {}", x.name, fault));
}

// The directions in which elements of a matrix follow one another. Interleaved problems fill the gaps.
std::array<Step, 2> steps_within(const FactorOperand& x) {
  return {Step{x.rows, x.row_stride}, Step{x.cols, x.col_stride}};
}

void check_levels(const FactorOperand& x) {
  for (std::size_t i = 0; i < x.level_count; ++i)
    if (x.levels[i].count < 0)
      refuse_batch(x, fmt::format("has {} problems, a negative count", x.levels[i].count));
  if (x.count() < 0) refuse_batch(x, "has more problems than 64 bits count");
}

// Matrices that are written must not share elements; rows of several may alternate, as those of products.
void check_apart(const FactorOperand& x) {
  const auto within = steps_within(x);
  if (!plainly_apart(within, 1))
    refuse_batch(x,
                 fmt::format("is written, but elements of its {} x {} matrices coincide at strides {} and {}",
                             x.rows, x.cols, x.row_stride, x.col_stride));
  if (x.pointers != nullptr || x.block > 0) return;
  std::vector<Step> steps(within.begin(), within.end());
  for (std::size_t i = x.level_count; i-- > 0;) {  // the innermost first
    const auto& level = x.levels[i];
    if (level.count > 1 && level.stride == 0)
      refuse_batch(x, "is written, but its problems lie at stride 0, on one another");
    std::int64_t extent = 1;
    for (const Step& step : steps)
      extent = saturating_sum(extent, saturating_product(step.count - 1, std::abs(step.stride)));
    steps.push_back({level.count, level.stride});
    if (!plainly_apart(steps, 1))
      refuse_batch(x, fmt::format("is written, but its stride = {} has no room for the {} elements that {}: "
                                  "neighbouring problems would overlap",
                                  level.stride, extent,
                                  i + 1 == x.level_count ? "one matrix spans" : "it steps over"));
  }
}

void check_operand(const FactorOperand& x, bool written, Location location) {
  if (x.rows < 0 || x.cols < 0)
    refuse_batch(x, fmt::format("is {} x {}: sizes must not be negative", x.rows, x.cols));
  check_levels(x);
  if (x.rows == 0 || x.cols == 0 || x.count() == 0) return;
  if (x.data == nullptr && x.pointers == nullptr) refuse_batch(x, "is null");
  if (x.block < 0) refuse_batch(x, fmt::format("has block = {}, which is negative", x.block));
  if ((x.block > 0 || x.pointers != nullptr || x.row_stride == 1) && x.col_stride < x.rows && x.cols > 1)
    refuse_batch(x, fmt::format("has ld = {}, which is smaller than its {} rows", x.col_stride, x.rows));
  if (written) check_apart(x);
  if (x.pointers != nullptr && location == Location::host)
    for (std::int64_t p = 0; p < x.count(); ++p)
      if (x.pointers[p] == nullptr) refuse_argument(x.name, fmt::format("{}[{}] is null", x.name, p), p);
}

void check_square(const FactorOperand& x) {
  if (x.rows != x.cols) refuse_batch(x, fmt::format("is {} x {}, but must be square", x.rows, x.cols));
}

void check_same_count(const FactorOperand& x, const FactorOperand& a) {
  if (a.count() != x.count())
    refuse_batch(x, fmt::format("has {} problems, but {} has {}", x.count(), a.name, a.count()));
}

// The vectors of a singular value decomposition: min(m, n) of each side.
void check_singular_vectors(const FactorWork& work) {
  const LaneShape& s = work.shape;
  const auto check = [&](const FactorOperand& x, std::int64_t rows, std::int64_t cols) {
    if (x.rows != rows || x.cols != cols)
      refuse_batch(x, fmt::format("is {} x {}, but must be {} x {}, since {} is {} x {}", x.rows, x.cols,
                                  rows, cols, work.a.name, s.m, s.n));
    check_same_count(x, work.a);
  };
  check(work.b, s.m, work.steps());
  check(work.c, work.steps(), s.n);
}

void check_sizes(const FactorWork& work) {
  const LaneShape& s = work.shape;
  const Routine r = s.routine;
  const bool may_be_rectangular = r == Routine::getrf || r == Routine::geqrf || r == Routine::ormqr ||
                                  r == Routine::gels || r == Routine::gesvd;
  if (!may_be_rectangular) check_square(work.a);
  if (r == Routine::gels && s.m < s.n)
    refuse_batch(work.a, fmt::format("is {} x {}, but must have at least as many rows as columns", s.m, s.n));
  if (!work.has_b) return;
  if (r == Routine::gesvd) return check_singular_vectors(work);
  const bool right = s.side == Side::right;
  const std::int64_t order = right ? work.b.cols : work.b.rows;
  if (order != s.m)
    refuse_batch(work.b, fmt::format("has {} {}, but {} is {} x {}", order, right ? "columns" : "rows",
                                     work.a.name, s.m, s.n));
  if (work.makes_b()) check_square(work.b);
  check_same_count(work.b, work.a);
}

void check_pivots(const FactorWork& work, std::size_t places) {
  if (work.shape.pivoting == Pivoting::none) return;
  const std::int64_t needed = saturating_product(work.count, work.steps());
  if (std::int64_t(places) < needed)
    refuse_argument("pivots",
                    fmt::format("pivots has {} places, but the problems have {} pivots", places, needed));
  if (work.pivots_in == nullptr || work.location == Location::device) return;
  for (std::int64_t i = 0; i < needed; ++i)
    if (work.pivots_in[i] < 1 || work.pivots_in[i] > work.shape.n)
      refuse_argument("pivots",
                      fmt::format("pivots[{}] = {} is not the number of a row, 1 to {}", i, work.pivots_in[i],
                                  work.shape.n),
                      i / std::max<std::int64_t>(1, work.steps()));
}

void check_values(const FactorWork& work, std::size_t places) {
  const FactorValues& values = work.values;
  const std::int64_t needed = saturating_product(work.count, values.count);
  if (std::int64_t(places) >= needed) return;
  if (work.shape.routine == Routine::det)
    refuse_argument("det", fmt::format("det has {} places, but there are {} problems", places, needed));
  refuse_argument(values.name, fmt::format("{} has {} places, but the problems have {} of them", values.name,
                                           places, needed));
}

}  // namespace

void validate_factor(const FactorWork& work, std::size_t pivot_places, std::size_t value_places,
                     const FactorOptions& options) {
  const LaneShape& s = work.shape;
  refuse_unnamed("side", s.side, Side::right);
  refuse_unnamed("uplo", s.uplo, Uplo::upper);
  refuse_unnamed("op", s.op, Op::conj_trans);
  refuse_unnamed("diag", s.diag, Diag::unit);
  if (s.routine == Routine::ormqr && s.op == Op::trans && is_complex(s.dtype))
    refuse_argument("op", "op = trans, but Q or its conjugate transpose is applied: none or conj_trans");
  check_operand(work.a, work.writes_a, work.location);
  if (work.has_b) check_operand(work.b, true, work.location);
  if (work.has_c) check_operand(work.c, true, work.location);
  check_sizes(work);
  const bool pivots =
      s.routine == Routine::getrf || s.routine == Routine::getrs || s.routine == Routine::getri;
  if (pivots) check_pivots(work, pivot_places);
  check_values(work, value_places);
  refuse_unnamed("pivoting", options.pivoting, Pivoting::none);
  check_threads(options.threads);
  refuse_unnamed("info.mode", work.info.mode, InfoMode::any);
  if (work.info.mode != InfoMode::none && work.info.codes == nullptr)
    refuse_argument("info.codes", "info.codes is null, but info.mode asks for codes");
  refuse_unknown_candidate(options.candidate, factor_candidates(work.location));
}

}  // namespace tilewright
