// The recursion, and views of its parts for products.
#include "factor/gpu_halves.hpp"

#include <algorithm>
#include <memory>

#include "core/dispatch.hpp"
#include "factor/gpu_batches.hpp"
#include "tilewright/strided_gemm.hpp"

namespace tilewright {
namespace {

constexpr std::int64_t whole_order = 192;  // of triangles that one kernel solves with
constexpr std::int64_t least_sides = 32;
constexpr std::int64_t part_multiple = 32;

bool has_lines(const FactorOperand& x) {
  if (x.pointers != nullptr || x.block > 0) return false;
  for (std::size_t i = 0; i < x.level_count; ++i)
    if (x.levels[i].count > 1 && x.levels[i].stride < 0) return false;
  const auto by = [](std::int64_t step, std::int64_t extent, std::int64_t other) {
    return step == 1 && other >= std::max<std::int64_t>(1, extent);
  };
  return by(x.row_stride, x.rows, x.col_stride) || by(x.col_stride, x.cols, x.row_stride);
}

// One pass over a triangle: A and B as the kernel sees them (factor_gpu/shape.hpp).
template <class T>
class Halves {
 public:
  Halves(Context& context, const GpuMachine& machine, const FactorWork& work, std::int64_t first,
         std::int64_t count)
      : context_(context), machine_(machine), work_(work) {
    const LaneShape& s = work.shape;
    call_.a = gpu_batch_of(work.a, first, s.n, s.n, 0),
    call_.b = gpu_batch_of(work.b, first, work.b.rows, work.b.cols, 0);
    call_.count = count, call_.nrhs = s.nrhs, call_.alpha = work.alpha;
    shape_ = factor_large_second(factor_gpu_shape(s, call_.a.by_rows(), call_.b.by_rows()));
    if (factor_gpu_turns_a(s)) std::swap(a_row_, a_col_);
    if (factor_gpu_turns_b(s)) std::swap(b_row_, b_col_);
    options_.queue = work.queue;
  }

  // Solves with the lower triangle, transposed or not.
  void pass(bool trans) {
    shape_.solve = FactorGpuSolve::triangle, shape_.trans = trans, shape_.conj = false;
    solve(0, work_.shape.n, !scales_sides(work_));
  }

 private:
  std::int64_t step(const FactorGpuBatch& x, bool of_rows) const { return of_rows ? x.row_step : x.col_step; }
  T* a(std::int64_t i, std::int64_t j) const {
    return static_cast<T*>(call_.a.data) + i * step(call_.a, a_row_) + j * step(call_.a, a_col_);
  }
  T* b(std::int64_t i) const { return static_cast<T*>(call_.b.data) + i * step(call_.b, b_row_); }

  // Rows [begin, end) of the solution, which the rest of it has been subtracted from; if not `is_scaled` they
  // are still to be multiplied by alpha.
  void solve(std::int64_t begin, std::int64_t end, bool is_scaled) {
    if (end - begin <= whole_order) return solve_whole(begin, end, is_scaled);
    const std::int64_t half = ((end - begin) / 2 + part_multiple - 1) / part_multiple * part_multiple;
    const std::int64_t middle = begin + half;
    if (!shape_.trans) {
      solve(begin, middle, is_scaled);
      subtract(middle, end, begin, middle, is_scaled);
      solve(middle, end, true);
    } else {
      solve(middle, end, is_scaled);
      subtract(begin, middle, middle, end, is_scaled);
      solve(begin, middle, true);
    }
  }

  void solve_whole(std::int64_t begin, std::int64_t end, bool is_scaled) {
    FactorLargeCall part = call_;
    part.a.data = a(begin, begin), part.b.data = b(begin);
    part.a.rows = part.a.cols = end - begin;
    (b_row_ ? part.b.rows : part.b.cols) = end - begin;
    FactorGpuShape shape = shape_;
    shape.scales = !is_scaled;
    const FactorLargeSolveConfig config = factor_large_solve_config(
        shape, int(end - begin), int(call_.nrhs), int(sizeof(T)), factor_large_room(machine_.gpu().limits()));
    machine_.factor_large(shape, config, work_.shape.dtype, true)->launch(part, work_.queue.stream);
  }

  // Subtracts from rows [row, row_end) what rows [col, col_end) of the solution make of them.
  void subtract(std::int64_t row, std::int64_t row_end, std::int64_t col, std::int64_t col_end,
                bool is_scaled) {
    const std::int64_t m = row_end - row, k = col_end - col, nrhs = call_.nrhs;
    const std::int64_t down = step(call_.a, a_row_), across = step(call_.a, a_col_);
    const T* const from = shape_.trans ? a(col, row) : a(row, col);
    const auto left =
        strided<Location::device>(from, m, k, shape_.trans ? across : down, shape_.trans ? down : across)
            .repeat(call_.a.stride, call_.count);
    const auto sides = [&](std::int64_t first, std::int64_t rows) {
      return strided<Location::device>(b(first), rows, nrhs, step(call_.b, b_row_), step(call_.b, b_col_))
          .repeat(call_.b.stride, call_.count);
    };
    gemm_batched(context_, Op::none, Op::none, T(-1), left, sides(col, k),
                 is_scaled ? T(1) : *static_cast<const T*>(call_.alpha), sides(row, m), options_);
  }

  Context& context_;
  const GpuMachine& machine_;
  const FactorWork& work_;
  FactorLargeCall call_;
  FactorGpuShape shape_;
  // A row of the kernel's operand is followed by the next in a column of the caller's; turned ones exchange
  // both.
  bool a_row_ = true, a_col_ = false, b_row_ = true, b_col_ = false;
  GemmOptions options_;
};

}  // namespace

bool solves_by_halves(const FactorWork& work) {
  const LaneShape& s = work.shape;
  if (s.routine != Routine::trsm && s.routine != Routine::potrs) return false;
  // Products of matrices by columns conjugate only what they transpose.
  if (is_complex(s.dtype) && (s.routine == Routine::potrs || s.op == Op::conj_trans)) return false;
  if (s.n <= whole_order || s.nrhs < least_sides || !has_lines(work.a) || !has_lines(work.b)) return false;
  return dispatch(s.dtype, [&]<class T>() {
    return s.routine != Routine::trsm || *static_cast<const T*>(work.alpha) != T(0);
  });
}

void solve_by_halves(Context& context, const GpuMachine& machine, const FactorWork& work, std::int64_t first,
                     std::int64_t count) {
  dispatch(work.shape.dtype, [&]<class T>() {
    const FactorGpuShape s = factor_gpu_shape(work.shape, false, false);
    Halves<T> halves(context, machine, work, first, count);
    if (s.solve == FactorGpuSolve::triangle) return halves.pass(s.trans);
    halves.pass(false);
    halves.pass(true);
  });
}

}  // namespace tilewright
