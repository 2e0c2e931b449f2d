// Derives a GemmProblem's fields from the choices; makes no choices itself.
#include "support/make_case.hpp"

#include <algorithm>

namespace tilewright::testing {
namespace {

Scalar scalar_class(ScalarChoice choice) {
  return choice == ScalarChoice::zero  ? Scalar::zero
         : choice == ScalarChoice::one ? Scalar::one
                                       : Scalar::general;
}

ScalarSource scalar_source(ScalarChoice choice) {
  return choice == ScalarChoice::per_problem  ? ScalarSource::per_problem
         : choice == ScalarChoice::mixed_zero ? ScalarSource::mixed_zero
                                              : ScalarSource::uniform;
}

// The larger matrices hold at least this many bands: batches of up to this count have one leading dimension,
// and so one kernel.
constexpr std::int64_t band_count = 17;

void make_row_bands(GemmProblem& q, std::int64_t padding) {
  const auto band = [&](std::int64_t rows, std::int64_t& stride, std::int64_t& ld) {
    if (stride == 0) return;
    stride = rows + padding;
    ld += stride * std::max(q.batch_count, band_count);
  };
  band(q.a_rows(), q.stride_a, q.lda);
  band(q.b_rows(), q.stride_b, q.ldb);
  band(q.m, q.stride_c, q.ldc);
}

// A level's parts lie one after the other, `padding` elements apart, those of the first level in the order
// within those of the next.
void make_levels(GemmProblem& q, const Choices& x) {
  constexpr std::array<std::array<std::size_t, 3>, 6> orders{
      {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}}};
  const std::array<std::int64_t, 3> counts{q.batch_count, x.outer_count, x.outermost_count};
  const auto place = [&](std::int64_t& stride, std::int64_t& outer, std::int64_t& outermost,
                         unsigned shared) {
    std::int64_t step = std::max<std::int64_t>(1, stride);
    std::int64_t* const strides[] = {&stride, &outer, &outermost};
    for (const std::size_t level : orders[std::size_t(x.level_order)]) {
      *strides[level] = (shared >> level & 1) != 0 ? 0 : step;
      if (*strides[level] != 0) step = step * counts[level] + x.stride_padding;
    }
  };
  place(q.stride_a, q.outer_a, q.outermost_a, x.shared_a | (x.broadcast_a ? 1 : 0));
  place(q.stride_b, q.outer_b, q.outermost_b, x.shared_b | (x.broadcast_b ? 1 : 0));
  place(q.stride_c, q.outer_c, q.outermost_c, 0);
  q.outer_count = x.outer_count, q.outermost_count = x.outermost_count;
  q.batch_count *= x.outer_count * x.outermost_count;
}

}  // namespace

Case make_case(const Choices& x) {
  Case c;
  GemmProblem& q = c.problem;
  q.dtype = x.dtype;
  q.layout = x.layout;
  q.op_a = x.op_a;
  q.op_b = x.op_b;
  q.m = x.size.m;
  q.n = x.size.n;
  q.k = x.size.k;
  const auto padding = [](std::int64_t base, std::int64_t more) { return base == 0 ? 0 : base + more; };
  const auto ld = [&](std::int64_t rows, std::int64_t more) {
    return std::max<std::int64_t>(rows, 1) + padding(x.ld_padding, more);
  };
  q.lda = ld(q.a_rows(), 1);
  q.ldb = ld(q.b_rows(), 2);
  q.ldc = ld(q.m, 0);
  q.batch_count = x.layout == Layout::single ? 1 : x.batch_count;
  if (x.layout == Layout::interleaved) q.block = q.batch_count;
  if (x.layout == Layout::block_interleaved) q.block = x.block;
  if (x.layout == Layout::strided) {
    q.stride_a = x.broadcast_a ? 0 : q.lda * q.a_cols() + padding(x.stride_padding, 1);
    q.stride_b = x.broadcast_b ? 0 : q.ldb * q.b_cols() + padding(x.stride_padding, 2);
    q.stride_c = q.ldc * q.n + x.stride_padding;
    if (x.row_bands)
      make_row_bands(q, x.stride_padding);
    else if (x.outer_count != 1 || x.outermost_count != 1)
      make_levels(q, x);
  }
  q.alpha = scalar_class(x.alpha);
  q.beta = scalar_class(x.beta);
  c.alpha = scalar_source(x.alpha);
  c.beta = scalar_source(x.beta);
  c.data = x.data;
  c.edge = x.edge;
  c.seed = x.seed;
  return c;
}

}  // namespace tilewright::testing
