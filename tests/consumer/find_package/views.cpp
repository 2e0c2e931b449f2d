// Uses the views of the C++ surface against the installed headers, with sizes of the types that programs have
// and every warning about conversions, by each compiler there is: views by rows, views like std::mdspan,
// batches made step by step, plans and chains of views, LU of views and spans.
#include <array>
#include <cstddef>
#include <cstdio>
#include <tilewright/chain.hpp>
#include <tilewright/gemm.hpp>
#include <tilewright/lu.hpp>
#include <vector>

namespace tw = tilewright;

namespace {

// The members of std::mdspan that the library uses.
template <class T, std::size_t Rank>
struct Span {
  using element_type = T;
  T* data;
  std::array<std::size_t, Rank> extents, strides;

  static constexpr std::size_t rank() noexcept { return Rank; }
  T* data_handle() const noexcept { return data; }
  std::size_t extent(std::size_t r) const noexcept { return extents[r]; }
  std::size_t stride(std::size_t r) const noexcept { return strides[r]; }
};

bool all_are(const std::vector<double>& x, double value) {
  for (const double element : x)
    if (element != value) return false;
  return true;
}

bool multiplies(tw::Context& context) {
  const std::size_t m = 3, n = 4, k = 2;
  const std::vector<double> a(m * k, 1), b(k * n, 2);
  std::vector<double> c(m * n, 9);
  const auto none = tw::Op::none;
  tw::gemm(context, none, none, 1, tw::row_major(a.data(), m, k), tw::row_major(b.data(), k, n), 0,
           tw::row_major(c.data(), m, n));
  bool right = all_are(c, 4);
  const Span<const double, 2> span_a{a.data(), {m, k}, {k, 1}};
  const Span<double, 2> span_c{c.data(), {m, n}, {1, m}};
  tw::gemm(context, none, tw::Op::trans, 1, span_a, tw::column_major(b.data(), n, k), 1, span_c);
  right = right && all_are(c, 8);
  tw::gemm(context, none, none, 0.5, tw::column_major(a.data(), m, k), tw::column_major(b.data(), k, n), 0,
           tw::column_major(c.data(), m, n));
  return right && all_are(c, 2);
}

bool multiplies_batches(tw::Context& context) {
  const std::size_t n = 4, count = 6;
  const std::vector<double> a(n * n * count, 1), b(n * n, 2);
  std::vector<double> c(n * n * count, 9), sum(n * n);
  const auto none = tw::Op::none;
  const auto batch_c = tw::strided_batch(tw::column_major(c.data(), n, n), n * n, count);
  tw::gemm_batched(context, none, none, 1, tw::strided_batch(tw::column_major(a.data(), n, n), n * n, count),
                   tw::strided_batch(tw::column_major(b.data(), n, n), 0, count), 0, batch_c);
  bool right = all_are(c, 8);
  const auto pairs =
      tw::strided_batch(tw::column_major(c.data(), n, n), n * n, 2).repeat(2 * n * n, count / 2);
  right = right && pairs.outer_count == 3;
  const Span<const double, 3> span_a{a.data(), {count, n, n}, {n * n, n, 1}};
  const auto rows_c = tw::row_major(c.data(), n, n).repeat(n * n, count);
  tw::gemm_batched(context, none, none, 1, span_a, tw::row_major(b.data(), n, n), 1, rows_c);
  right = right && all_are(c, 16);
  tw::gemm_batch_reduce(context, none, none, 1, span_a, tw::row_major(b.data(), n, n), 0,
                        tw::row_major(sum.data(), n, n));
  right = right && all_are(sum, 48);

  const auto multiply = tw::plan(context, none, none, 1, span_a, tw::row_major(b.data(), n, n), 0, rows_c);
  multiply.run(1, span_a, tw::row_major(b.data(), n, n), 0, rows_c);
  right = right && all_are(c, 8) && !multiply.plan().explain().empty();
  const tw::ChainPass<double> passes[] = {multiply.pass(1, span_a, tw::row_major(b.data(), n, n), 0, rows_c)};
  tw::run_chain<double>(static_cast<std::int64_t>(count), passes);
  return right && all_are(c, 8);
}

bool factors(tw::Context& context) {
  const std::size_t n = 2;
  std::vector<double> a{2, 0, 0, 4}, b{2, 4};
  std::vector<std::int64_t> pivots(n);
  (void)tw::lu_factor(context, tw::column_major(a.data(), n, n), pivots);
  tw::lu_solve(context, tw::Op::none, tw::column_major(a.data(), n, n), pivots,
               tw::column_major(b.data(), n, 1));
  const Span<double, 2> span{a.data(), {n, n}, {1, n}};
  return all_are(b, 1) && tw::lu_inverse(context, span, pivots).info == 0 && a[3] == 0.25;
}

}  // namespace

int main() {
  tw::Context context({.notices = false});
  if (!multiplies(context) || !multiplies_batches(context) || !factors(context)) {
    std::puts("wrong result");
    return 1;
  }
  double x[4] = {};
  try {
    tw::gemm(context, tw::Op::none, tw::Op::none, 1, tw::strided(x, 2, 2, 0, 0), tw::row_major(x, 2, 2), 0,
             tw::row_major(x, 2, 2));
  } catch (const tw::Error& error) {
    std::printf("ok; a bad view says: %s\n", error.what());
    return error.argument() == "a" ? 0 : 2;
  }
  return 3;
}
