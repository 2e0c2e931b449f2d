// Batched factorizations, solves, inverses and determinants on the host: LAPACK's residuals for every
// routine, type, layout and candidate, what happens to problems that cannot be factored, and the messages of
// bad arguments.
#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <functional>
#include <limits>
#include <random>
#include <vector>

#include "factor/matrix_stack.hpp"

namespace tilewright::testing {
namespace {

template <class T>
class FactorBatches : public ::testing::Test {
 protected:
  Context context_{{.use_wisdom = false, .notices = false}};

  // Calls f(candidate, n, nrhs, count) for sizes on both sides of every block, panel and vector.
  template <class F>
  static void each(F&& f) {
    for (const char* candidate : {"lanes", "blocked"})
      for (const std::int64_t n : {1, 2, 3, 4, 5, 8, 9, 12, 13, 17, 25, 33, 64})
        for (const std::int64_t count : {1, 19})
          f(FactorOptions{.candidate = candidate}, n, n % 3 == 0 ? 5 : 1, count);
  }
};
using Types = ::testing::Types<float, double, std::complex<float>, std::complex<double>>;
TYPED_TEST_SUITE(FactorBatches, Types);

TYPED_TEST(FactorBatches, SystemsOfEveryOperation) {
  using T = TypeParam;
  this->each([&](const FactorOptions& options, std::int64_t n, std::int64_t nrhs, std::int64_t count) {
    const MatrixStack<T> a = random_matrices<T>(n, n, count, unsigned(n)),
                         b = random_matrices<T>(n, nrhs, count, 7);
    std::vector<int> info(std::size_t(count), -1), pivots(std::size_t(n * count));
    MatrixStack<T> x = b, lu = a;
    gesv_batched(this->context_, a.read(), x.view(), {InfoMode::all, info.data()}, options);
    EXPECT_LT(ratio_of(a, x, b), 10) << options.candidate << n;
    EXPECT_EQ(info, std::vector<int>(std::size_t(count), 0));
    getrf_batched(this->context_, lu.view(), pivots, {}, options);
    for (const Op op : {Op::none, Op::trans, Op::conj_trans}) {
      x = b;
      getrs_batched(this->context_, op, lu.read(), pivots, x.view(), options);
      EXPECT_LT(ratio_of(a, x, b, op), 10) << options.candidate << n << int(op);
    }
    for (std::int64_t p = 0; p < count; ++p)
      for (std::int64_t j = 0; j < n; ++j)
        for (std::int64_t i = j + 1; i < n; ++i)
          EXPECT_LT(std::abs(lu.at(p, i, j)), 1.5) << "L of partial pivoting";
  });
}

TYPED_TEST(FactorBatches, InversesAndDeterminants) {
  using T = TypeParam;
  this->each([&](const FactorOptions& options, std::int64_t n, std::int64_t, std::int64_t count) {
    const MatrixStack<T> a = random_matrices<T>(n, n, count, unsigned(n)), unit = unit_matrices<T>(n, count);
    std::vector<int> pivots(std::size_t(n * count));
    MatrixStack<T> inverse(n, n, count), lu = a;
    inv_batched(this->context_, a.read(), inverse.view(), {}, options);
    EXPECT_LT(ratio_of(a, inverse, unit), 200) << options.candidate << n;
    getrf_batched(this->context_, lu.view(), pivots, {}, options);
    std::vector<T> det(static_cast<std::size_t>(count));
    det_batched(this->context_, a.read(), std::span(det), options);
    for (std::int64_t p = 0; p < count; ++p) {
      T expected(1);
      for (std::int64_t i = 0; i < n; ++i)
        expected *= pivots[std::size_t(p * n + i)] == i + 1 ? lu.at(p, i, i) : -lu.at(p, i, i);
      if (std::isfinite(std::abs(expected)))  // of n = 64 it exceeds f32
        EXPECT_LT(std::abs(det[std::size_t(p)] - expected), 1e-3 * std::abs(expected));
    }
    getri_batched(this->context_, lu.view(), pivots, {}, options);
    EXPECT_LT(ratio_of(a, lu, unit), 200) << options.candidate << n;
  });
}

// Values of which some products leave the range, on the diagonal in both orders; exchanged rows for the sign.
TYPED_TEST(FactorBatches, DeterminantsDoNotOverflowOnTheWay) {
  using T = TypeParam;
  using R = RealOf<T>;
  constexpr R most = std::numeric_limits<R>::max(), least = std::numeric_limits<R>::min();
  constexpr R infinite = std::numeric_limits<R>::infinity();
  const R large = sizeof(R) == 4 ? R(0x1p100) : R(0x1p830), small = R(1) / large, half = most / 2;
  const struct {
    std::vector<R> diagonal;
    R det;
  } cases[] = {
      {{large, large, small, small}, 1},       {{small, small, large, large}, 1},
      {{large, large, -small, 3}, -3 * large}, {{least, least, 1 / small, 1}, 0},
      {{large, large, large, -1}, -infinite},  {{half, half, small, small}, half / large * (half / large)},
      {{small, small, small, 1}, 0},           {{large, large, 0, 1}, 0}};
  for (const char* candidate : {"lanes", "blocked"})
    for (const auto& one : cases) {
      MatrixStack<T> a(4, 4, 1);
      for (std::int64_t i = 0; i < 4; ++i) a.at(0, i, (i + 1) % 4) = T(one.diagonal[std::size_t(i)]);
      std::vector<T> det(1);
      det_batched(this->context_, a.read(), std::span(det), {.candidate = candidate});
      EXPECT_EQ(det[0], T(one.det == 0 ? 0 : -one.det)) << candidate << one.det;
    }
}

TYPED_TEST(FactorBatches, PositiveDefiniteMatrices) {
  using T = TypeParam;
  this->each([&](const FactorOptions& options, std::int64_t n, std::int64_t nrhs, std::int64_t count) {
    const MatrixStack<T> a = positive_matrices<T>(n, count, unsigned(n)),
                         b = random_matrices<T>(n, nrhs, count, 7);
    for (const Uplo uplo : {Uplo::lower, Uplo::upper}) {
      const auto other = [&](std::int64_t i, std::int64_t j) { return uplo == Uplo::lower ? i < j : i > j; };
      MatrixStack<T> half = a;  // the other triangle is not read
      for (std::int64_t p = 0; p < count; ++p)
        for (std::int64_t i = 0; i < n; ++i)
          for (std::int64_t j = 0; j < n; ++j)
            if (other(i, j)) half.at(p, i, j) = T(std::numeric_limits<RealOf<T>>::quiet_NaN());
      std::vector<int> info(std::size_t(count), -1);
      MatrixStack<T> x = b, factor = half;
      posv_batched(this->context_, uplo, half.read(), x.view(), {InfoMode::all, info.data()}, options);
      EXPECT_LT(ratio_of(a, x, b), 10) << options.candidate << n << int(uplo);
      potrf_batched(this->context_, uplo, factor.view(), {InfoMode::all, info.data()}, options);
      EXPECT_EQ(info, std::vector<int>(std::size_t(count), 0));
      x = b;
      potrs_batched(this->context_, uplo, factor.read(), x.view(), options);
      EXPECT_LT(ratio_of(a, x, b), 10) << options.candidate << n << int(uplo);
      potri_batched(this->context_, uplo, factor.view(), {}, options);
      for (std::int64_t p = 0; p < count; ++p)
        for (std::int64_t i = 0; i < n; ++i)
          for (std::int64_t j = 0; j < n; ++j)
            if (other(i, j)) {
              EXPECT_NE(factor.at(p, i, j), factor.at(p, i, j)) << "the other triangle is not written";
              factor.at(p, i, j) = conj_value(factor.at(p, j, i));
            }
      EXPECT_LT(ratio_of(a, factor, unit_matrices<T>(n, count)), 200) << options.candidate << n;
    }
  });
}

TYPED_TEST(FactorBatches, TriangularSolves) {
  using T = TypeParam;
  this->each([&](const FactorOptions& options, std::int64_t n, std::int64_t nrhs, std::int64_t count) {
    MatrixStack<T> a = random_matrices<T>(n, n, count, unsigned(n));
    for (T& x : a.data) x *= RealOf<T>(1.0 / double(n));
    for (std::int64_t p = 0; p < count; ++p)
      for (std::int64_t i = 0; i < n; ++i) a.at(p, i, i) += RealOf<T>(2);
    const T alpha(RealOf<T>(1.5));
    for (const Side side : {Side::left, Side::right})
      for (const Uplo uplo : {Uplo::lower, Uplo::upper})
        for (const Op op : {Op::none, Op::trans, Op::conj_trans})
          for (const Diag diag : {Diag::non_unit, Diag::unit}) {
            const MatrixStack<T> b = side == Side::left ? random_matrices<T>(n, nrhs, count, 7)
                                                        : random_matrices<T>(nrhs, n, count, 7);
            MatrixStack<T> x = b;
            trsm_batched(this->context_, side, uplo, op, diag, alpha, a.read(), x.view(), options);
            const auto of_a = [&](std::int64_t p, std::int64_t i, std::int64_t j) {
              if (op != Op::none) std::swap(i, j);
              if (i == j && diag == Diag::unit) return T(1);
              if (uplo == Uplo::lower ? i < j : i > j) return T(0);
              return op == Op::conj_trans ? conj_value(a.at(p, i, j)) : a.at(p, i, j);
            };
            const double worst = ratio_of<T>(
                n, x, b,
                [&](std::int64_t p, std::int64_t i, std::int64_t j, std::int64_t k, const MatrixStack<T>& y) {
                  return side == Side::left ? of_a(p, i, k) * y.at(p, k, j) : y.at(p, i, k) * of_a(p, k, j);
                },
                alpha);
            EXPECT_LT(worst, 10) << options.candidate << n << int(side) << int(uplo) << int(op) << int(diag);
          }
  });
}

TYPED_TEST(FactorBatches, EveryLayoutGivesTheSameBits) {
  using T = TypeParam;
  for (const std::int64_t n : {3, 7, 20}) {
    constexpr std::int64_t count = 21, nrhs = 2;
    const MatrixStack<T> a = random_matrices<T>(n, n, count, 5), b = random_matrices<T>(n, nrhs, count, 6);
    const FactorOptions lanes{.candidate = "lanes"};
    MatrixStack<T> expected = b;
    gesv_batched(this->context_, a.read(), expected.view(), {}, lanes);
    {
      MatrixStack<T> x = b;
      std::vector<const T*> of_a;
      std::vector<T*> of_x;
      for (std::int64_t p = 0; p < count; ++p) of_a.push_back(&a.at(p, 0, 0)), of_x.push_back(&x.at(p, 0, 0));
      gesv_batched(this->context_, PointerBatch<const T>{of_a.data(), n, n, n, count},
                   PointerBatch<T>{of_x.data(), n, nrhs, n, count}, {}, lanes);
      EXPECT_EQ(x.data, expected.data) << "pointers";
    }
    {
      std::vector<T> rows(a.data.size());
      for (std::int64_t p = 0; p < count; ++p)
        for (std::int64_t i = 0; i < n; ++i)
          for (std::int64_t j = 0; j < n; ++j) rows[std::size_t((p * n + i) * n + j)] = a.at(p, i, j);
      MatrixStack<T> x = b;
      gesv_batched(this->context_, strided_batch(row_major(rows.data(), n, n), n * n, count), x.view(), {},
                   lanes);
      EXPECT_EQ(x.data, expected.data) << "by rows";
    }
    for (const std::int64_t block : {std::int64_t(4), std::int64_t(8), count}) {
      const std::int64_t blocks = (count + block - 1) / block;
      std::vector<T> slots_a(std::size_t(blocks * block * n * n)),
          slots_b(std::size_t(blocks * block * n * nrhs));
      const auto slot = [&](std::int64_t p, std::int64_t element, std::int64_t elements) {
        return std::size_t(p / block * block * elements + element * block + p % block);
      };
      for (std::int64_t p = 0; p < count; ++p) {
        for (std::int64_t e = 0; e < n * n; ++e)
          slots_a[slot(p, e, n * n)] = a.data[std::size_t(p * n * n + e)];
        for (std::int64_t e = 0; e < n * nrhs; ++e)
          slots_b[slot(p, e, n * nrhs)] = b.data[std::size_t(p * n * nrhs + e)];
      }
      gesv_batched(this->context_, InterleavedBatch<const T>{slots_a.data(), n, n, n, block, count},
                   InterleavedBatch<T>{slots_b.data(), n, nrhs, n, block, count}, {}, lanes);
      for (std::int64_t p = 0; p < count; ++p)
        for (std::int64_t e = 0; e < n * nrhs; ++e)
          ASSERT_EQ(slots_b[slot(p, e, n * nrhs)], expected.data[std::size_t(p * n * nrhs + e)])
              << "block " << block;
    }
  }
}

class FactorFailures : public ::testing::Test {
 protected:
  Context context_{{.use_wisdom = false, .notices = false}};

  static void refused(const std::string& argument, const std::string& message,
                      const std::function<void()>& call) {
    try {
      call();
      ADD_FAILURE() << "accepted, expected: " << message;
    } catch (const Error& error) {
      EXPECT_EQ(error.argument(), argument);
      EXPECT_EQ(error.what(), message);
    }
  }
};

TEST_F(FactorFailures, OneProblemDoesNotHarmTheOthers) {
  for (const char* candidate : {"lanes", "blocked"}) {
    constexpr std::int64_t n = 6, count = 13, singular = 5;
    const FactorOptions options{.candidate = candidate};
    MatrixStack<double> a = random_matrices<double>(n, n, count, 3);
    const MatrixStack<double> b = random_matrices<double>(n, 1, count, 4);
    for (std::int64_t i = 0; i < n; ++i) a.at(singular, i, 3) = 0;
    MatrixStack<double> x = b;
    std::vector<int> info(count, -1);
    gesv_batched(context_, a.read(), x.view(), {InfoMode::all, info.data()}, options);
    for (std::int64_t p = 0; p < count; ++p) EXPECT_EQ(info[std::size_t(p)], p == singular ? 4 : 0) << p;
    for (std::int64_t i = 0; i < n; ++i)
      EXPECT_EQ(x.at(singular, i, 0), b.at(singular, i, 0)) << "keeps its values";
    MatrixStack<double> good = a;
    for (std::int64_t i = 0; i < n; ++i) good.at(singular, i, i) += 1;
    for (std::int64_t i = 0; i < n; ++i) x.at(singular, i, 0) = 0;
    MatrixStack<double> rest = b;
    for (std::int64_t i = 0; i < n; ++i) rest.at(singular, i, 0) = 0;
    EXPECT_LT(ratio_of(good, x, rest), 10);
    int one = -1;
    gesv_batched(context_, a.read(), x.view(), {InfoMode::any, &one}, options);
    EXPECT_EQ(one, 4);
    std::vector<double> det(count);
    det_batched(context_, a.read(), std::span(det), options);
    EXPECT_EQ(det[singular], 0);
  }
}

TEST_F(FactorFailures, IndefiniteMatricesAreReported) {
  for (const char* candidate : {"lanes", "blocked"})
    for (const double bad : {-1.0, 0.0, std::numeric_limits<double>::quiet_NaN()}) {
      constexpr std::int64_t n = 9, count = 10;
      MatrixStack<double> a = positive_matrices<double>(n, count, 3);
      a.at(7, 4, 4) = bad;
      for (std::int64_t i = 0; i < n; ++i)
        if (i != 4) a.at(7, i, 4) = a.at(7, 4, i) = 0;
      std::vector<int> info(count, -1);
      const MatrixStack<double> b = random_matrices<double>(n, 2, count, 4);
      MatrixStack<double> x = b;
      const FactorOptions options{.candidate = candidate};
      posv_batched(context_, Uplo::lower, a.read(), x.view(), {InfoMode::all, info.data()}, options);
      for (std::int64_t p = 0; p < count; ++p) EXPECT_EQ(info[std::size_t(p)], p == 7 ? 5 : 0);
      for (std::int64_t i = 0; i < n; ++i) EXPECT_EQ(x.at(7, i, 1), b.at(7, i, 1));
    }
}

TEST_F(FactorFailures, WithoutPivoting) {
  constexpr std::int64_t n = 20, count = 11;
  MatrixStack<double> a = random_matrices<double>(n, n, count, 3);
  for (std::int64_t p = 0; p < count; ++p)
    for (std::int64_t i = 0; i < n; ++i) a.at(p, i, i) += 4 * n;
  const MatrixStack<double> b = random_matrices<double>(n, 3, count, 4);
  MatrixStack<double> x = b, lu = a;
  const FactorOptions options{.pivoting = Pivoting::none};
  gesv_batched(context_, a.read(), x.view(), {}, options);
  EXPECT_LT(ratio_of(a, x, b), 10);
  getrf_batched(context_, lu.view(), {}, {}, options);
  x = b;
  getrs_batched(context_, Op::none, lu.read(), {}, x.view(), options);
  EXPECT_LT(ratio_of(a, x, b), 10);
}

TEST_F(FactorFailures, RectanglesAreFactored) {
  for (const char* candidate : {"lanes", "blocked"})
    for (const auto& [m, n] : {std::pair<std::int64_t, std::int64_t>{9, 4}, {4, 9}, {40, 30}, {30, 40}}) {
      constexpr std::int64_t count = 9;
      const MatrixStack<double> a = random_matrices<double>(m, n, count, 3);
      MatrixStack<double> lu = a;
      const std::int64_t steps = std::min(m, n);
      std::vector<int> pivots(std::size_t(steps * count));
      getrf_batched(context_, lu.view(), pivots, {}, {.candidate = candidate});
      for (std::int64_t p = 0; p < count; ++p) {
        std::vector<std::int64_t> row(static_cast<std::size_t>(m));
        for (std::int64_t i = 0; i < m; ++i) row[std::size_t(i)] = i;
        for (std::int64_t k = 0; k < steps; ++k)
          std::swap(row[std::size_t(k)], row[std::size_t(pivots[std::size_t(p * steps + k)] - 1)]);
        for (std::int64_t i = 0; i < m; ++i)
          for (std::int64_t j = 0; j < n; ++j) {
            double sum = 0;
            for (std::int64_t k = 0; k <= std::min({i, j, steps - 1}); ++k)
              sum += (k == i ? 1 : lu.at(p, i, k)) * lu.at(p, k, j);
            ASSERT_NEAR(sum, a.at(p, row[std::size_t(i)], j), 1e-12) << candidate << m << n;
          }
      }
    }
}

TEST_F(FactorFailures, TinyPivotsAreDividedBy) {
  constexpr double tiny = 4e-310;  // its inverse is infinite
  for (const std::int64_t n : {2, 14}) {
    MatrixStack<double> a = unit_matrices<double>(n, 3), x = unit_matrices<double>(n, 3);
    for (double& value : a.data) value *= tiny;
    for (double& value : x.data) value *= tiny;
    gesv_batched(context_, a.read(), x.view(), {}, {.candidate = "lanes"});
    EXPECT_EQ(x.data, unit_matrices<double>(n, 3).data);
  }
}

TEST_F(FactorFailures, NothingToDo) {
  double value = 5;
  std::vector<double> det(3, 0.0);
  std::vector<int> info(3, -1);
  det_batched(context_, StridedBatch<const double>({&value, 0, 0, 1}, 0, 3), std::span(det));
  EXPECT_EQ(det, std::vector<double>(3, 1.0));
  potrf_batched(context_, Uplo::lower, StridedBatch<double>({&value, 0, 0, 1}, 1, 3),
                {InfoMode::all, info.data()});
  EXPECT_EQ(info, std::vector<int>(3, 0));
  gesv_batched(context_, StridedBatch<const double>({nullptr, 2, 2, 2}, 4, 0),
               StridedBatch<double>({nullptr, 2, 1, 2}, 2, 0));
  EXPECT_EQ(value, 5);
}

// Bands of rows of one larger matrix do not share elements, though each spans those of the others.
TEST_F(FactorFailures, RowsOfProblemsMayAlternate) {
  const MatrixStack<double> a = random_matrices<double>(3, 3, 4, 1), b = random_matrices<double>(3, 2, 4, 2);
  MatrixStack<double> x = b, band(12, 2, 1);
  for (std::int64_t p = 0; p < 4; ++p)
    for (std::int64_t j = 0; j < 2; ++j)
      for (std::int64_t i = 0; i < 3; ++i) band.at(0, p * 3 + i, j) = b.at(p, i, j);
  gesv_batched(context_, a.read(), x.view());
  gesv_batched(context_, a.read(), StridedBatch<double>({band.data.data(), 3, 2, 12}, 3, 4));
  for (std::int64_t p = 0; p < 4; ++p)
    for (std::int64_t j = 0; j < 2; ++j)
      for (std::int64_t i = 0; i < 3; ++i) EXPECT_EQ(band.at(0, p * 3 + i, j), x.at(p, i, j));
}

TEST_F(FactorFailures, BadArgumentsAreNamedAndNothingIsWritten) {
  MatrixStack<double> a = random_matrices<double>(3, 3, 4, 1), b = random_matrices<double>(3, 2, 4, 2);
  const std::vector<double> before = b.data;
  std::vector<int> pivots(12, 9);
  refused("a", "a is 3 x 2, but must be square", [&] { gesv_batched(context_, b.read(), b.view()); });
  MatrixStack<double> short_b(2, 2, 4), few(3, 2, 3);
  refused("b", "b has 2 rows, but a is 3 x 3", [&] { gesv_batched(context_, a.read(), short_b.view()); });
  refused("b", "b has 3 problems, but a has 4", [&] { gesv_batched(context_, a.read(), few.view()); });
  refused("pivots", "pivots has 3 places, but the problems have 12 pivots",
          [&] { getrf_batched(context_, a.view(), std::span(pivots).first(3)); });
  refused("pivots", "pivots[0] = 9 is not the number of a row, 1 to 3",
          [&] { getrs_batched(context_, Op::none, a.read(), pivots, b.view()); });
  refused("b", "b is null", [&] {
    gesv_batched(context_, a.read(), StridedBatch<double>({nullptr, 3, 2, 3}, 6, 4));
  });
  refused("b", "b is written, but its problems lie at stride 0, on one another", [&] {
    gesv_batched(context_, a.read(), StridedBatch<double>({b.data.data(), 3, 2, 3}, 0, 4));
  });
  refused(
      "b",
      "b is written, but its stride = 5 has no room for the 6 elements that one matrix spans: neighbouring "
      "problems would overlap",
      [&] {
        gesv_batched(context_, a.read(), StridedBatch<double>({b.data.data(), 3, 2, 3}, 5, 4));
      });
  MatrixBatch<double> levels = b.view();
  levels.level_count = 2, levels.levels[0] = {2, 11}, levels.levels[1] = {2, 6};
  refused(
      "b",
      "b is written, but its stride = 11 has no room for the 12 elements that it steps over: neighbouring "
      "problems would overlap",
      [&] { gesv_batched(context_, a.read(), levels); });
  refused("a", "a has ld = 2, which is smaller than its 3 rows", [&] {
    gesv_batched(context_, StridedBatch<const double>({a.data.data(), 3, 3, 2}, 9, 4), b.view());
  });
  refused("info.codes", "info.codes is null, but info.mode asks for codes", [&] {
    gesv_batched(context_, a.read(), b.view(), {InfoMode::all, nullptr});
  });
  refused("threads", "threads = -1 is negative",
          [&] { gesv_batched(context_, a.read(), b.view(), {}, {.threads = -1}); });
  EXPECT_THROW(gesv_batched(context_, a.read(), b.view(), {}, {.candidate = "lane"}), Error);
  EXPECT_EQ(b.data, before);
}

}  // namespace
}  // namespace tilewright::testing
