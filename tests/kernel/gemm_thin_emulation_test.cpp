// Runs the kernel of products with one long side on the host: either side long, every operation and type,
// gaps, tiles that are not full, batches, factors of zero, and tiles of several rows to a thread.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "emulation/gpu.hpp"
#include "kernel/gemm_thin/stencil.cuh"

namespace tilewright::emulation {
namespace {

template <class T>
struct Real {
  using Type = T;
};
template <class R>
struct Real<Complex<R>> {
  using Type = R;
};

template <class T>
T made(int at) {
  using R = typename Real<T>::Type;
  const R value = R(at % 13) - 6;
  if constexpr (std::is_same_v<T, R>)
    return value;
  else
    return {value, R(at % 7) - 3};
}
template <class T>
std::vector<T> numbers(std::size_t count, int seed) {
  std::vector<T> all(count);
  for (std::size_t i = 0; i < count; ++i) all[i] = made<T>(int(i * 5) + seed);
  return all;
}
template <class R>
double apart(R x, R y) {
  return std::fabs(double(x - y));
}
template <class R>
double apart(Complex<R> x, Complex<R> y) {
  return apart(x.re, y.re) + apart(x.im, y.im);
}

struct Sizes {
  int points = 300, count = 1, gap = 0;
  unsigned blocks = 3;
};

// Compares with plain sums, and asks that nothing between the elements of Y changes.
template <class T, GemmThinShape S, GemmThinConfig C>
void expect_right(const Sizes& z, T alpha, T beta) {
  const int x_run = S.x_by_points ? S.k : z.points, y_run = S.y_by_points ? S.n : z.points;
  GemmThinArgs<T> args{};
  args.points = z.points, args.count = z.count;
  args.ld_x = x_run + z.gap, args.ld_y = y_run + z.gap;
  args.stride_x = args.ld_x * (S.x_by_points ? z.points : S.k) + z.gap;
  args.stride_y = args.ld_y * (S.y_by_points ? z.points : S.n) + z.gap;
  args.w_k = 1, args.w_n = S.k + z.gap, args.stride_w = args.w_n * S.n;
  args.alpha = alpha, args.beta = beta;
  const auto x = numbers<T>(std::size_t(args.stride_x * z.count), 1);
  const auto w = numbers<T>(std::size_t(args.stride_w * z.count), 2);
  auto y = numbers<T>(std::size_t(args.stride_y * z.count), 3);
  std::vector<T> expected = y;
  for (int q = 0; q < z.count; ++q)
    for (int i = 0; i < z.points; ++i)
      for (int j = 0; j < S.n; ++j) {
        T sum = zero<T>();
        for (int l = 0; l < S.k; ++l)
          multiply_add(sum,
                       conjugate_if<S.conj_x>(x[std::size_t(
                           q * args.stride_x + (S.x_by_points ? i * args.ld_x + l : l * args.ld_x + i))]),
                       conjugate_if<S.conj_w>(w[std::size_t(q * args.stride_w + j * args.w_n + l)]));
        T& old = expected[std::size_t(q * args.stride_y +
                                      (S.y_by_points ? i * args.ld_y + j : j * args.ld_y + i))];
        T value = zero<T>();
        multiply_add(value, alpha, sum);
        if (S.reads_y) multiply_add(value, beta, old);
        old = value;
      }
  args.x = x.data(), args.w = w.data(), args.y = y.data();
  for (const Copies copies : {Copies::at_once, Copies::late}) {
    auto result = y;
    args.y = result.data();
    const Launch launch{
        .blocks = z.blocks,
        .threads = unsigned(gemm_thin_threads(S, C)),
        .shared_bytes = unsigned(gemm_thin_shared_bytes(S, C, sizeof(T))),
        .copies = copies,
        .global = {{x.data(), x.size() * sizeof(T)}, {result.data(), result.size() * sizeof(T)}}};
    ASSERT_EQ(run(launch, [&] { gemm_thin<T, S, C>(args); }), "");
    double most = 0;
    for (std::size_t i = 0; i < result.size(); ++i) most = std::max(most, apart(result[i], expected[i]));
    EXPECT_EQ(most, 0);
  }
}

TEST(GemmThinEmulation, EitherSideLong) {
  constexpr GemmThinConfig c{.points = 64, .rows = 1, .columns = 4};
  expect_right<double, GemmThinShape{.k = 3, .n = 3, .unit_beta = true}, c>({}, 1, 1);
  expect_right<double, GemmThinShape{.k = 3, .n = 3, .x_by_points = true}, c>({.gap = 2}, 1, 3);
  expect_right<double, GemmThinShape{.k = 8, .n = 5, .y_by_points = true}, c>({.gap = 1}, 1, -2);
  expect_right<
      float, GemmThinShape{.k = 5, .n = 9, .x_by_points = true, .y_by_points = true, .unit_alpha = false}, c>(
      {.points = 257, .count = 3, .gap = 3}, 2, 1);
}

// Along columns, within points, and across the points of a run.
TEST(GemmThinEmulation, Vectors) {
  constexpr GemmThinConfig c{.points = 128, .rows = 4, .columns = 4},
      wide{.points = 64, .rows = 2, .columns = 2};
  using S = GemmThinShape;
  expect_right<float, S{.k = 5, .n = 6, .vector_x = true}, c>({.points = 300}, 1, 2);
  expect_right<float, S{.k = 5, .n = 6, .vector_x = true}, c>({.points = 301, .gap = 3}, 1, 0);
  expect_right<float, S{.k = 4, .n = 7, .y_by_points = true, .vector_x = true}, c>({.points = 300}, 1, 2);
  expect_right<float, S{.k = 4, .n = 8, .y_by_points = true}, c>({.points = 130, .gap = 4}, 1, -1);
  expect_right<float, S{.k = 8, .n = 8, .x_by_points = true, .y_by_points = true, .vector_x = true},
               GemmThinConfig{.points = 64, .rows = 2, .columns = 2}>({.points = 130, .gap = 4}, 1, 3);
  expect_right<float, S{.k = 3, .n = 2, .x_by_points = true, .y_by_points = true, .vector_x = true}, c>(
      {.points = 270}, 1, 2);
  expect_right<
      double,
      S{.k = 6, .n = 10, .x_by_points = true, .y_by_points = true, .unit_alpha = false, .vector_x = true},
      wide>({.points = 131, .gap = 2}, 3, 2);
  expect_right<Complex<float>, S{.k = 3, .n = 5, .x_by_points = true, .y_by_points = true, .vector_x = true},
               wide>({.points = 101}, {1, 0}, {1, 2});
  expect_right<Complex<double>,
               S{.k = 3, .n = 2, .x_by_points = true, .y_by_points = true, .conj_x = true, .vector_x = true},
               wide>({.points = 102}, {1, 0}, {1, 2});
}

TEST(GemmThinEmulation, ComplexNumbers) {
  constexpr GemmThinConfig c{.points = 32, .rows = 1, .columns = 2};
  using F = Complex<float>;
  using D = Complex<double>;
  expect_right<F, GemmThinShape{.k = 4, .n = 3, .x_by_points = true, .conj_x = true, .unit_alpha = false}, c>(
      {.points = 70, .gap = 1}, {1, 2}, {0, 1});
  expect_right<D, GemmThinShape{.k = 2, .n = 4, .y_by_points = true, .conj_w = true, .reads_y = false}, c>(
      {.points = 65, .count = 2}, {1, 0}, {0, 0});
}

TEST(GemmThinEmulation, SeveralRowsToAThread) {
  expect_right<double, GemmThinShape{.k = 17, .n = 20},
               GemmThinConfig{.points = 64, .rows = 2, .columns = 10}>({}, 1, 2);
  expect_right<float, GemmThinShape{.k = 33, .n = 6, .y_by_points = true},
               GemmThinConfig{.points = 128, .rows = 4, .columns = 6}>({.points = 130, .blocks = 1}, 1, 2);
}

// A factor of zero hides what is no number, in products and in the old Y.
TEST(GemmThinEmulation, ZerosHideWhatIsNoNumber) {
  constexpr GemmThinShape s{.k = 2, .n = 2, .y_by_points = true, .unit_alpha = false};
  constexpr GemmThinConfig c{.points = 32, .rows = 1, .columns = 2};
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const bool of_product : {true, false}) {
    std::vector<double> x(80, of_product ? nan : 1), w(4, 1), y(80, of_product ? 3 : nan);
    GemmThinArgs<double> args{};
    args.alpha = of_product ? 0 : 1, args.beta = of_product ? 2 : 0;
    args.x = x.data(), args.w = w.data(), args.y = y.data();
    args.points = 40, args.count = 1, args.ld_x = 40, args.ld_y = 2, args.w_k = 1, args.w_n = 2;
    const Launch launch{.blocks = 2,
                        .threads = unsigned(gemm_thin_threads(s, c)),
                        .shared_bytes = unsigned(gemm_thin_shared_bytes(s, c, 8)),
                        .global = {{x.data(), 640}, {y.data(), 640}}};
    ASSERT_EQ(run(launch, [&] { gemm_thin<double, s, c>(args); }), "");
    for (const double one : y) EXPECT_EQ(one, of_product ? 6 : 2);
  }
}

}  // namespace
}  // namespace tilewright::emulation
