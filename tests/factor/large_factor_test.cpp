// Batched factorizations of matrices around the largest that the lanes of vectors hold, by rows, with memory
// between them; and factors that are written beside their matrices.
#include <gtest/gtest.h>

#include <algorithm>
#include <complex>
#include <cstddef>
#include <vector>

#include "factor/matrix_stack.hpp"

namespace tilewright::testing {
namespace {

// The matrices of a stack in a batch by rows, which lie further apart than they need to.
template <class T>
class SparseRows {
 public:
  explicit SparseRows(const MatrixStack<T>& of) : same_(of), data_(std::size_t(of.count * step()), T(77)) {
    each([&](T& at, T& value) { at = value; });
  }
  MatrixBatch<T> batch() {
    MatrixBatch<T> all;
    all.data = data_.data(), all.rows = same_.rows, all.cols = same_.cols;
    all.row_stride = row(), all.col_stride = 1;
    all.level_count = 1, all.levels[0] = {same_.count, step()};
    return all;
  }
  MatrixStack<T> stack() {
    each([&](T& at, T& value) { value = at, at = T(77); });
    for (const T& beside : data_) EXPECT_EQ(beside, T(77)) << "memory between matrices is not written";
    return same_;
  }

 private:
  std::int64_t row() const { return same_.cols + 3; }
  std::int64_t step() const { return same_.rows * row() + 5; }
  template <class F>
  void each(F&& f) {
    for (std::int64_t p = 0; p < same_.count; ++p)
      for (std::int64_t i = 0; i < same_.rows; ++i)
        for (std::int64_t j = 0; j < same_.cols; ++j)
          f(data_[std::size_t(p * step() + i * row() + j)], same_.at(p, i, j));
  }

  MatrixStack<T> same_;
  std::vector<T> data_;
};

template <class T>
class LargeFactors : public ::testing::Test {
 protected:
  Context context_{{.use_wisdom = false, .notices = false}};

  // Calls f(candidate, n, count), where lanes has a problem in every place of a vector and more.
  template <class F>
  static void each_large(F&& f) {
    for (const std::int64_t n : {65, 96, 128, 130})
      for (const char* candidate : {"lanes", "blocked"})
        if (n <= 128 || candidate[0] == 'b')
          f(FactorOptions{.candidate = candidate}, n, candidate[0] == 'b' ? 2 : 17);
  }
};
using LargeTypes = ::testing::Types<float, double, std::complex<float>, std::complex<double>>;
TYPED_TEST_SUITE(LargeFactors, LargeTypes);

TYPED_TEST(LargeFactors, MatricesByRows) {
  using T = TypeParam;
  this->each_large([&](const FactorOptions& options, std::int64_t n, std::int64_t count) {
    const MatrixStack<T> a = random_matrices<T>(n, n, count, unsigned(n)),
                         b = random_matrices<T>(n, 3, count, 7);
    SparseRows<T> rows(a), x(b), inverse(MatrixStack<T>(n, n, count));
    std::vector<int> info(std::size_t(count), -1), pivots(std::size_t(n * count));
    gesv_batched(this->context_, rows.batch(), x.batch(), {InfoMode::all, info.data()}, options);
    EXPECT_LT(ratio_of(a, x.stack(), b), 10) << options.candidate << n;
    EXPECT_EQ(info, std::vector<int>(std::size_t(count), 0));
    inv_batched(this->context_, rows.batch(), inverse.batch(), {}, options);
    EXPECT_LT(ratio_of(a, inverse.stack(), unit_matrices<T>(n, count)), 200) << options.candidate << n;
    EXPECT_EQ(rows.stack().data, a.data) << "A is not written";
    MatrixStack<T> lu = a;
    getrf_batched(this->context_, lu.view(), pivots, {}, options);
    for (const Op op : {Op::none, Op::conj_trans}) {
      MatrixStack<T> y = b;
      getrs_batched(this->context_, op, lu.read(), pivots, y.view(), options);
      EXPECT_LT(ratio_of(a, y, b, op), 10) << options.candidate << n << int(op);
    }
    getri_batched(this->context_, lu.view(), pivots, {}, options);
    EXPECT_LT(ratio_of(a, lu, unit_matrices<T>(n, count)), 200) << options.candidate << n;
  });
}

TYPED_TEST(LargeFactors, PositiveDefiniteMatrices) {
  using T = TypeParam;
  this->each_large([&](const FactorOptions& options, std::int64_t n, std::int64_t count) {
    const MatrixStack<T> a = positive_matrices<T>(n, count, unsigned(n)),
                         b = random_matrices<T>(n, 2, count, 7);
    for (const Uplo uplo : {Uplo::lower, Uplo::upper}) {
      SparseRows<T> rows(a), x(b);
      posv_batched(this->context_, uplo, rows.batch(), x.batch(), {}, options);
      EXPECT_LT(ratio_of(a, x.stack(), b), 10) << options.candidate << n << int(uplo);
      MatrixStack<T> inverse = a;
      potrf_batched(this->context_, uplo, inverse.view(), {}, options);
      potri_batched(this->context_, uplo, inverse.view(), {}, options);
      for (std::int64_t p = 0; p < count; ++p)
        for (std::int64_t i = 0; i < n; ++i)
          for (std::int64_t j = 0; j < n; ++j)
            if (uplo == Uplo::lower ? i < j : i > j) inverse.at(p, i, j) = conj_value(inverse.at(p, j, i));
      EXPECT_LT(ratio_of(a, inverse, unit_matrices<T>(n, count)), 200) << options.candidate << n;
    }
  });
}

// Programs keep matrices of their own in the triangle that a routine of the other one leaves alone.
TYPED_TEST(LargeFactors, TheOtherTriangleIsKept) {
  using T = TypeParam;
  const FactorOptions blocked{.candidate = "blocked"}, best;
  for (const std::int64_t n : {3, 49, 96, 130})
    for (const FactorOptions& options : {blocked, best})
      for (const Uplo uplo : {Uplo::lower, Uplo::upper}) {
        const auto is_beside = [&](std::int64_t i, std::int64_t j) {
          return uplo == Uplo::lower ? i < j : i > j;
        };
        MatrixStack<T> a = positive_matrices<T>(n, 2, unsigned(n));
        const auto each_beside = [&](auto&& f) {
          for (std::int64_t p = 0; p < 2; ++p)
            for (std::int64_t i = 0; i < n; ++i)
              for (std::int64_t j = 0; j < n; ++j)
                if (is_beside(i, j)) f(a.at(p, i, j));
        };
        each_beside([](T& x) { x = T(77); });
        potrf_batched(this->context_, uplo, a.view(), {}, options);
        each_beside([&](T& x) { ASSERT_EQ(x, T(77)) << "potrf " << n << options.candidate; });
        potri_batched(this->context_, uplo, a.view(), {}, options);
        each_beside([&](T& x) { ASSERT_EQ(x, T(77)) << "potri " << n << options.candidate; });
      }
}

// The factor that keeps A is the one in place, to the bit, with zeros beside it, in every arrangement of A
// and of itself.
TYPED_TEST(LargeFactors, FactorsBesideTheirMatrices) {
  using T = TypeParam;
  for (const char* candidate : {"lanes", "blocked"})
    for (const std::int64_t n : {1, 4, 7, 33, 66})
      for (const Uplo uplo : {Uplo::lower, Uplo::upper}) {
        constexpr std::int64_t count = 18, indefinite = 11;
        const FactorOptions options{.candidate = candidate};
        MatrixStack<T> a = positive_matrices<T>(n, count, unsigned(n));
        a.at(indefinite, n - 1, n - 1) = T(-1);
        MatrixStack<T> expected = a;
        std::vector<int> infos(count, -1), expected_infos(count, 0);
        expected_infos[indefinite] = int(n);
        potrf_batched(this->context_, uplo, expected.view(), {InfoMode::all, infos.data()}, options);
        EXPECT_EQ(infos, expected_infos);
        for (std::int64_t p = 0; p < count; ++p)
          for (std::int64_t i = 0; i < n; ++i)
            for (std::int64_t j = 0; j < n; ++j)
              if (uplo == Uplo::lower ? i < j : i > j) expected.at(p, i, j) = T(0);
        const auto same = [&](const MatrixStack<T>& factor, const char* arrangement) {
          EXPECT_EQ(infos, expected_infos) << arrangement;
          for (std::int64_t p = 0; p < count; ++p) {
            const auto first = std::ptrdiff_t(p * n * n), last = std::ptrdiff_t((p + 1) * n * n);
            if (p == indefinite) continue;
            ASSERT_TRUE(std::equal(factor.data.begin() + first, factor.data.begin() + last,
                                   expected.data.begin() + first))
                << candidate << n << int(uplo) << arrangement << p;
          }
        };
        const BatchInfo info{InfoMode::all, infos.data()};
        SparseRows<T> rows(a), factor_rows(random_matrices<T>(n, n, count, 1)),
            factor_of_columns = factor_rows;
        MatrixStack<T> factor = random_matrices<T>(n, n, count, 2);
        potrf_batched(this->context_, uplo, rows.batch(), factor_rows.batch(), info, options);
        same(factor_rows.stack(), "by rows");
        potrf_batched(this->context_, uplo, a.read(), factor_of_columns.batch(), info, options);
        same(factor_of_columns.stack(), "to rows");
        potrf_batched(this->context_, uplo, rows.batch(), factor.view(), info, options);
        same(factor, "to columns");
        EXPECT_EQ(rows.stack().data, a.data) << "A is not written";
      }
}

}  // namespace
}  // namespace tilewright::testing
