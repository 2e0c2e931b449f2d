// Checks of a batched factorization or solve, in the order of its arguments.
#include <fmt/format.h>

#include <algorithm>

#include "core/fields.hpp"
#include "core/input/checked.hpp"
#include "core/refuse.hpp"
#include "device/team.hpp"
#include "factor/call.hpp"
#include "factor/candidates.hpp"

namespace tilewright {
namespace {

void refuse_batch(const FactorOperand& x, const std::string& fault) {
  refuse_argument(x.name, fmt::format("{} {}", x.name, fault));
}

// A distance of rows or columns that makes elements coincide. Those that are read may.
bool coincides(const FactorOperand& x) {
  if (x.rows <= 1 && x.cols <= 1) return false;
  if (x.cols <= 1) return x.row_stride == 0;
  if (x.rows <= 1) return x.col_stride == 0;
  const std::int64_t least = std::min(std::abs(x.row_stride), std::abs(x.col_stride));
  const std::int64_t most = std::max(std::abs(x.row_stride), std::abs(x.col_stride));
  const std::int64_t inner = std::abs(x.row_stride) == least ? x.rows : x.cols;
  return least == 0 || most / least < inner;
}

void check_levels(const FactorOperand& x, bool written) {
  for (std::size_t i = 0; i < x.level_count; ++i) {
    if (x.levels[i].count < 0)
      refuse_batch(x, fmt::format("has {} problems, a negative count", x.levels[i].count));
    const bool repeats =
        x.pointers == nullptr && x.block == 0 && x.levels[i].count > 1 && x.levels[i].stride == 0;
    if (written && repeats && x.rows > 0 && x.cols > 0)
      refuse_batch(x, "is written, but its problems lie at stride 0, on one another");
  }
  if (x.count() < 0) refuse_batch(x, "has more problems than 64 bits count");
}

void check_operand(const FactorOperand& x, bool written) {
  if (x.rows < 0 || x.cols < 0)
    refuse_batch(x, fmt::format("is {} x {}: sizes must not be negative", x.rows, x.cols));
  check_levels(x, written);
  if (x.rows == 0 || x.cols == 0 || x.count() == 0) return;
  if (x.data == nullptr && x.pointers == nullptr) refuse_batch(x, "is null");
  if (x.block < 0) refuse_batch(x, fmt::format("has block = {}, which is negative", x.block));
  if ((x.block > 0 || x.pointers != nullptr || x.row_stride == 1) && x.col_stride < x.rows && x.cols > 1)
    refuse_batch(x, fmt::format("has ld = {}, which is smaller than its {} rows", x.col_stride, x.rows));
  if (written && coincides(x))
    refuse_batch(x,
                 fmt::format("is written, but elements of its {} x {} matrices coincide at strides {} and {}",
                             x.rows, x.cols, x.row_stride, x.col_stride));
  if (x.pointers != nullptr)
    for (std::int64_t p = 0; p < x.count(); ++p)
      if (x.pointers[p] == nullptr) refuse_argument(x.name, fmt::format("{}[{}] is null", x.name, p), p);
}

void check_square(const FactorOperand& x) {
  if (x.rows != x.cols) refuse_batch(x, fmt::format("is {} x {}, but must be square", x.rows, x.cols));
}

void check_sizes(const FactorWork& work) {
  const LaneShape& s = work.shape;
  if (s.routine != Routine::getrf) check_square(work.a);
  if (!work.has_b) return;
  const bool right = s.side == Side::right;
  const std::int64_t order = right ? work.b.cols : work.b.rows;
  if (order != s.n)
    refuse_batch(work.b, fmt::format("has {} {}, but {} is {} x {}", order, right ? "columns" : "rows",
                                     work.a.name, s.n, s.n));
  if (s.routine == Routine::inv) check_square(work.b);
  if (work.a.count() != work.b.count())
    refuse_batch(work.b,
                 fmt::format("has {} problems, but {} has {}", work.b.count(), work.a.name, work.a.count()));
}

void check_pivots(const FactorWork& work, std::size_t places) {
  if (work.shape.pivoting == Pivoting::none) return;
  const std::int64_t needed = saturating_product(work.count, work.steps());
  if (std::int64_t(places) < needed)
    refuse_argument("pivots",
                    fmt::format("pivots has {} places, but the problems have {} pivots", places, needed));
  if (work.pivots_in == nullptr) return;
  for (std::int64_t i = 0; i < needed; ++i)
    if (work.pivots_in[i] < 1 || work.pivots_in[i] > work.shape.n)
      refuse_argument("pivots",
                      fmt::format("pivots[{}] = {} is not the number of a row, 1 to {}", i, work.pivots_in[i],
                                  work.shape.n),
                      i / std::max<std::int64_t>(1, work.steps()));
}

}  // namespace

void validate_factor(const FactorWork& work, std::size_t pivot_places, std::size_t det_places,
                     const FactorOptions& options) {
  const LaneShape& s = work.shape;
  refuse_unnamed("side", s.side, Side::right);
  refuse_unnamed("uplo", s.uplo, Uplo::upper);
  refuse_unnamed("op", s.op, Op::conj_trans);
  refuse_unnamed("diag", s.diag, Diag::unit);
  check_operand(work.a, work.writes_a);
  if (work.has_b) check_operand(work.b, true);
  check_sizes(work);
  const bool pivots =
      s.routine == Routine::getrf || s.routine == Routine::getrs || s.routine == Routine::getri;
  if (pivots) check_pivots(work, pivot_places);
  if (s.routine == Routine::det && std::int64_t(det_places) < work.count)
    refuse_argument("det",
                    fmt::format("det has {} places, but there are {} problems", det_places, work.count));
  refuse_unnamed("pivoting", options.pivoting, Pivoting::none);
  check_threads(options.threads);
  refuse_unnamed("info.mode", work.info.mode, InfoMode::any);
  if (work.info.mode != InfoMode::none && work.info.codes == nullptr)
    refuse_argument("info.codes", "info.codes is null, but info.mode asks for codes");
  refuse_unknown_candidate(options.candidate, factor_candidates());
}

}  // namespace tilewright
