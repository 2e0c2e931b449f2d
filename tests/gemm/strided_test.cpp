// Products of views with any strides: what mdspans, rows and column-major views come to is what loops over
// their elements compute, in one call, in batches that broadcast, in sums, in plans and in chains; what
// cannot be run names the argument and its strides.
#include <gtest/gtest.h>

#include <array>
#include <complex>
#include <functional>
#include <numeric>

#include "support/mdspan.hpp"
#include "tilewright/chain.hpp"
#include "tilewright/gemm.hpp"

namespace tilewright::testing {
namespace {

using Complex = std::complex<double>;

template <class T>
T value(std::size_t i) {
  const double x = double(i * 7 % 11) - 5;
  if constexpr (std::is_same_v<T, Complex>)
    return {x, double(i * 3 % 5) - 2};
  else
    return T(x);
}

template <class T>
std::vector<T> numbers(std::size_t count, std::size_t seed) {
  std::vector<T> all(count);
  for (std::size_t i = 0; i < count; ++i) all[i] = value<T>(i + seed);
  return all;
}

// Element (i, j) of op(x).
template <class V>
auto element(const V& x, Op op, std::int64_t i, std::int64_t j) {
  using T = std::remove_const_t<typename V::element_type>;
  if (op != Op::none) std::swap(i, j);
  const T found = x.data_handle()[i * std::int64_t(x.stride(0)) + j * std::int64_t(x.stride(1))];
  if constexpr (std::is_same_v<T, Complex>) return op == Op::conj_trans ? std::conj(found) : found;
  return found;
}

template <class T>
StridedView<T, 2> by_columns(T* data, std::int64_t rows, std::int64_t cols) {
  return strided(data, rows, cols, 1, rows + 1);
}
template <class T>
StridedView<T, 2> by_rows(T* data, std::int64_t rows, std::int64_t cols) {
  return row_major(data, rows, cols, cols + 2);
}

template <class T>
class Strided : public ::testing::Test {
 protected:
  // Every pair of operations and every order of the three matrices; true if all that can be run are right.
  void check(std::int64_t m, std::int64_t n, std::int64_t k) {
    for (int order = 0; order < 8; ++order)
      for (const Op op_a : {Op::none, Op::trans, Op::conj_trans})
        for (const Op op_b : {Op::none, Op::trans, Op::conj_trans}) check_one(m, n, k, order, op_a, op_b);
  }

  Context context_{{.use_wisdom = false, .notices = false}};
  int run_ = 0, refused_ = 0;

 private:
  static StridedView<T, 2> view(std::vector<T>& data, bool rows_first, Op op, std::int64_t rows,
                                std::int64_t cols) {
    if (op != Op::none) std::swap(rows, cols);
    return rows_first ? by_rows(data.data(), rows, cols) : by_columns(data.data(), rows, cols);
  }

  void check_one(std::int64_t m, std::int64_t n, std::int64_t k, int order, Op op_a, Op op_b) {
    const auto size = std::size_t((m + 3) * (n + 3) + (k + 3) * (m + n + 6));
    std::vector<T> a = numbers<T>(size, 1), b = numbers<T>(size, 2), c = numbers<T>(size, 3);
    const auto va = view(a, order & 1, op_a, m, k), vb = view(b, order & 2, op_b, k, n);
    const auto vc = view(c, order & 4, Op::none, m, n);
    std::vector<T> expected = c;
    for (std::int64_t i = 0; i < m; ++i)
      for (std::int64_t j = 0; j < n; ++j) {
        T sum{};
        for (std::int64_t l = 0; l < k; ++l) sum += element(va, op_a, i, l) * element(vb, op_b, l, j);
        T& x = expected[std::size_t(i * vc.strides[0] + j * vc.strides[1])];
        x = T(2) * sum - x;
      }
    // Kernels do not conjugate an operand that they do not transpose, as C lies.
    const auto conjugates_alone = [&](Op op, bool rows_first) {
      return std::is_same_v<T, Complex> && op == Op::conj_trans && rows_first != bool(order & 4);
    };
    const bool impossible = conjugates_alone(op_a, order & 1) || conjugates_alone(op_b, order & 2);
    const std::vector<T> before = c;
    try {
      gemm(context_, op_a, op_b, 2, va, vb, -1, vc);
      // A row or a column lies either way.
      if (m > 1 && n > 1 && k > 1) EXPECT_FALSE(impossible);
      EXPECT_EQ(c, expected) << order << ' ' << int(op_a) << int(op_b);
      ++run_;
    } catch (const Error& error) {
      EXPECT_TRUE(impossible) << error.what();
      if (m > 1 && n > 1 && k > 1)
        EXPECT_EQ(error.argument(), conjugates_alone(op_a, order & 1) ? "a" : "b") << error.what();
      EXPECT_EQ(c, before);
      ++refused_;
    }
  }
};
using StridedTypes = ::testing::Types<double, float, Complex>;
TYPED_TEST_SUITE(Strided, StridedTypes);

TYPED_TEST(Strided, SingleProductsInEveryOrder) {
  this->check(5, 3, 4);
  this->check(1, 3, 4), this->check(5, 1, 4), this->check(5, 3, 1), this->check(70, 66, 65);
  EXPECT_GT(this->run_, this->refused_);
}

// c (batch, m, n) by loops; strides of 0 broadcast.
template <class A, class B, class C>
void by_loops(std::size_t batch, const A& a, const B& b, C& c, std::size_t m, std::size_t n, std::size_t k) {
  for (std::size_t p = 0; p < batch; ++p)
    for (std::size_t i = 0; i < m; ++i)
      for (std::size_t j = 0; j < n; ++j) {
        c(p, i, j) = 0;
        for (std::size_t l = 0; l < k; ++l) c(p, i, j) += a(p, i, l) * b(p, l, j);
      }
}

class StridedCalls : public ::testing::Test {
 protected:
  static constexpr std::size_t m = 3, n = 4, k = 2, batch = 6;
  std::vector<double> a_ = numbers<double>(batch * m * k, 1), b_ = numbers<double>(batch * k * n, 2);
  std::vector<double> c_ = std::vector<double>(batch * m * n, 99), expected_ = c_;
  Context context_{{.use_wisdom = false, .notices = false}};

  // With b of every problem, or of the first one.
  void expect(bool one_b = false) {
    struct Reader {
      const double* data;
      std::size_t matrix, row;
      double operator()(std::size_t p, std::size_t i, std::size_t j) const {
        return data[p * matrix + i * row + j];
      }
    };
    struct Writer {
      double* data;
      double& operator()(std::size_t p, std::size_t i, std::size_t j) { return data[p * m * n + i * n + j]; }
    } c{expected_.data()};
    by_loops(batch, Reader{a_.data(), m * k, k}, Reader{b_.data(), one_b ? 0 : k * n, n}, c, m, n, k);
    EXPECT_EQ(c_, expected_);
  }
  void refused(const std::string& argument, const std::string& words, const std::function<void()>& call) {
    const std::vector<double> before = c_;
    try {
      call();
      ADD_FAILURE() << "accepted, expected: " << words;
    } catch (const Error& error) {
      EXPECT_EQ(error.argument(), argument) << error.what();
      EXPECT_NE(std::string(error.what()).find(words), std::string::npos) << error.what();
    }
    EXPECT_EQ(c_, before);
  }
};

TEST_F(StridedCalls, BatchesOfMdspans) {
  const auto a = layout_right<const double, 3>(a_.data(), {batch, m, k});
  const auto b = layout_right<double, 3>(b_.data(), {batch, k, n});
  const auto c = layout_right<double, 3>(c_.data(), {batch, m, n});
  gemm_batched(context_, Op::none, Op::none, 1, a, b, 0, c);
  expect();
}

TEST_F(StridedCalls, SignedIndicesAndOwnViewsMix) {
  const Mdspan<const double, 3, int> a(a_.data(), {int(batch), int(m), int(k)}, {int(m * k), int(k), 1});
  const auto b = strided_batch(row_major(b_.data(), k, n), k * n, batch);
  const auto c = strided_batch(row_major(c_.data(), m, n), m * n, batch);
  gemm_batched(context_, Op::none, Op::none, 1, a, b, 0, c);
  expect();
}

TEST_F(StridedCalls, OneMatrixIsTakenForAllProblems) {
  const auto a = layout_right<const double, 3>(a_.data(), {batch, m, k});
  const auto c = layout_right<double, 3>(c_.data(), {batch, m, n});
  gemm_batched(context_, Op::none, Op::none, 1, a, row_major(b_.data(), k, n), 0, c);
  expect(true);
  std::fill(c_.begin(), c_.end(), 7);
  gemm_batched(context_, Op::none, Op::trans, 1, a, column_major(b_.data(), n, k), 0,
               c);  // the same elements
  expect(true);
}

TEST_F(StridedCalls, ColumnBatchesMultiplyIntoRows) {
  std::vector<double> columns(a_.size());
  for (std::size_t p = 0; p < batch; ++p)
    for (std::size_t i = 0; i < m; ++i)
      for (std::size_t l = 0; l < k; ++l) columns[p * m * k + l * m + i] = a_[p * m * k + i * k + l];
  const auto a = strided_batch(column_major(columns.data(), m, k), m * k, batch);
  gemm_batched(context_, Op::none, Op::none, 1, a, layout_right<double, 3>(b_.data(), {batch, k, n}), 0,
               layout_right<double, 3>(c_.data(), {batch, m, n}));
  expect();
}

TEST_F(StridedCalls, MoreLevelsThanOneCallHas) {
  // Five levels with gaps between all, so that none can be joined; the matrices are 1 x 1.
  const std::array<std::size_t, 7> extents{2, 2, 2, 2, 2, 1, 1}, strides{243, 81, 27, 9, 3, 1, 1};
  std::vector<double> a = numbers<double>(500, 4), b = numbers<double>(500, 5), c(500, 99);
  gemm_batched(context_, Op::none, Op::none, 1, Mdspan<const double, 7>(a.data(), extents, strides),
               Mdspan<const double, 7>(b.data(), extents, strides), 0,
               Mdspan<double, 7>(c.data(), extents, strides));
  std::size_t written = 0;
  for (std::size_t i = 0; i < 500; ++i) {
    bool is_element = i < 3 * 122;
    for (std::size_t rest = i / 3, level = 0; level < 5; ++level, rest /= 3)
      is_element = is_element && rest % 3 < 2;
    is_element = is_element && i % 3 == 0;
    EXPECT_EQ(c[i], is_element ? a[i] * b[i] : 99) << i;
    written += is_element;
  }
  EXPECT_EQ(written, 32u);
}

TEST_F(StridedCalls, Sums) {
  std::vector<double> sum(m * n, 1), expected = sum;
  const auto a = layout_right<const double, 3>(a_.data(), {batch, m, k});
  const auto b = layout_right<const double, 3>(b_.data(), {batch, k, n});
  gemm_batch_reduce(context_, Op::none, Op::none, 2, a, b, 3, row_major(sum.data(), m, n));
  for (std::size_t i = 0; i < m; ++i)
    for (std::size_t j = 0; j < n; ++j) {
      double x = 0;
      for (std::size_t p = 0; p < batch; ++p)
        for (std::size_t l = 0; l < k; ++l) x += a_[p * m * k + i * k + l] * b_[p * k * n + l * n + j];
      expected[i * n + j] = 2 * x + 3;
    }
  EXPECT_EQ(sum, expected);
  // Two levels that cannot be joined: by addresses.
  std::fill(sum.begin(), sum.end(), 1);
  const Mdspan<const double, 4> pairs(a_.data(), {3, 2, m, k}, {2 * m * k, m * k, k, 1});
  const Mdspan<const double, 4> turned(b_.data(), {3, 2, k, n}, {k * n, 3 * k * n, n, 1});
  gemm_batch_reduce(context_, Op::none, Op::none, 1, pairs, turned, 0, row_major(sum.data(), m, n));
  double first = 0;
  for (std::size_t p = 0; p < 3; ++p)
    for (std::size_t q = 0; q < 2; ++q)
      for (std::size_t l = 0; l < k; ++l)
        first += a_[(2 * p + q) * m * k + l] * b_[(p + 3 * q) * k * n + l * n];
  EXPECT_EQ(sum[0], first);
}

TEST_F(StridedCalls, PlansAndChains) {
  const auto a = layout_right<const double, 3>(a_.data(), {batch, m, k});
  const auto b = layout_right<const double, 3>(b_.data(), {batch, k, n});
  const auto c = layout_right<double, 3>(c_.data(), {batch, m, n});
  const auto multiply = plan(context_, Op::none, Op::none, 1, a, b, 0, c);
  EXPECT_FALSE(multiply.plan().explain().empty());
  EXPECT_EQ(problem_of(Op::none, Op::none, 1, a, b, 0, c).batch_count, std::int64_t(batch));
  multiply.run(1, a, b, 0, c);
  expect();
  std::fill(c_.begin(), c_.end(), 7);
  const ChainPass<double> passes[] = {multiply.pass(1, a, b, 0, c)};
  run_chain<double>(batch, passes);
  expect();
  refused("c", "the plan is for", [&] {
    multiply.run(1, a, b, 0, Mdspan<double, 3>(c_.data(), {batch, m, n}, {m * n, 1, m}));
  });
}

TEST_F(StridedCalls, WhatCannotBeRunNamesTheArgument) {
  const auto a = row_major(a_.data(), m, k), b = row_major(b_.data(), k, n), c = row_major(c_.data(), m, n);
  const auto call = [&](const auto& x, const auto& y, const auto& z) {
    return [=, this] { gemm(context_, Op::none, Op::none, 1, x, y, 0, z); };
  };
  refused("a", "strides (4, 2)", call(strided(a_.data(), m, k, 4, 2), b, c));
  refused("b", "strides (8, 2)", call(a, strided(b_.data(), k, n, 8, 2), c));
  refused("c", "strides (8, 2)", call(a, b, strided(c_.data(), m, n, 8, 2)));
  refused("c", "strides (0, 1)", call(a, b, strided(c_.data(), m, n, 0, 1)));
  refused("c", "strides (-4, 1)", call(a, b, strided(c_.data() + 8, m, n, -4, 1)));
  refused("a", "as many columns", call(row_major(a_.data(), m, k + 1), b, c));
  refused("a", "extent 0 of a is -3", call(strided(a_.data(), -3, 2, 2, 1), b, c));
  refused("a", "a is null", call(row_major(static_cast<double*>(nullptr), m, k), b, c));
  refused("b", "b is null", call(a, row_major(static_cast<double*>(nullptr), k, n), c));
  refused("c", "c has the address of a", call(row_major(c_.data(), m, k), b, c));
  refused("op_b", "op_b = 7", [&] { gemm(context_, Op::none, static_cast<Op>(7), 1, a, b, 0, c); });
  refused("a", "c has fewer dimensions",
          [&] { gemm_batched(context_, Op::none, Op::none, 1, strided_batch(a, m * k, 2), b, 0, c); });
  refused("c", "strides (0, 4, 1)", [&] {
    gemm_batched(context_, Op::none, Op::none, 1, strided_batch(a, m * k, 2), b, 0, c.repeat(0, 2));
  });
  refused("c", "none of the batch negative", [&] {
    const auto last_c = row_major(c_.data() + m * n, m, n);
    gemm_batched(context_, Op::none, Op::none, 1, strided_batch(a, m * k, 2), b, 0,
                 last_c.repeat(-std::int64_t(m * n), 2));
  });
}

TEST_F(StridedCalls, EmptyProductsAreNothing) {
  gemm(context_, Op::none, Op::none, 1, row_major(a_.data(), 0, k), row_major(b_.data(), k, n), 0,
       row_major(c_.data(), 0, n));
  gemm(context_, Op::none, Op::none, 1, row_major(a_.data(), m, 0), row_major(b_.data(), 0, n), 0,
       row_major(c_.data(), m, n));
  EXPECT_EQ(std::accumulate(c_.begin(), c_.begin() + m * n, 0.0), 0);
  EXPECT_EQ(c_[m * n], 99);
}

TEST(BatchScalars, AreNumbersOfAnyType) {
  Context context({.use_wisdom = false, .notices = false});
  const Complex a[] = {{1, 2}, {3, 4}}, b[] = {{0, 1}, {2, 0}};
  Complex c[] = {7, 7};
  const auto batch_of = [](auto* x) { return strided_batch(column_major(x, 1, 1), 1, 2); };
  gemm_batched(context, Op::none, Op::none, 2, batch_of(a), batch_of(b), 0, batch_of(c));
  EXPECT_EQ(c[0], Complex(-4, 2));
  EXPECT_EQ(c[1], Complex(12, 16));
  EXPECT_EQ(BatchScalar<double>(0).values, nullptr);
  static_assert(!std::is_convertible_v<const double*, BatchScalar<double>>);
}

TEST(Stacks, AreMadeOfViewsAndOneKindOfList) {
  Context context({.use_wisdom = false, .notices = false});
  const double a[] = {1, 2, 3, 4}, b[] = {1, 0, 0, 1, 2, 0, 0, 2};
  double c[] = {9, 9, 9, 9};
  const auto view_a = column_major(a, 2, 2), view_b = column_major(b, 2, 2);
  const auto view_c = column_major(c, 2, 2);
  const StackOffsets offsets[] = {{0, 0, 0}, {0, 4, 0}};
  const GemmStack<double> by_offsets = stack_of(Op::none, Op::none, 1, view_a, view_b, view_c, offsets);
  gemm_stack<double>(context, std::span(&by_offsets, 1), 0);
  EXPECT_EQ(c[3], 12);  // 4 * 1 + 4 * 2
  const StackPointers<double> pointers[] = {{a, b + 4, c}};
  const GemmStack<double> by_pointers = stack_of(Op::none, Op::trans, 2, view_a, view_b, view_c, pointers);
  gemm_stack<double>(context, std::span(&by_pointers, 1), 1);
  EXPECT_EQ(c[3], 28);
  EXPECT_EQ(by_pointers.a(), nullptr);
  EXPECT_THROW(stack_of(Op::none, Op::none, 1, column_major(a, 1, 2), view_b, view_c, offsets), Error);
}

TEST(StridedViews, AreMadeFromSizesOfAnyType) {
  double x[24];
  const std::size_t rows = 2, cols = 3;
  const auto r = row_major(x, rows, cols);
  EXPECT_EQ(r.strides, (std::array<std::int64_t, 2>{3, 1}));
  EXPECT_EQ(transposed(r).extents, (std::array<std::int64_t, 2>{3, 2}));
  EXPECT_EQ(transposed(column_major(x, rows, cols)).strides, (std::array<std::int64_t, 2>{2, 1}));
  const StridedBatch<double> b = strided_batch(column_major(x, rows, cols), rows * cols, 2u).repeat(12, 2);
  EXPECT_EQ(b.outer_stride, 12);
  EXPECT_EQ(b.outer_count, 2);
  EXPECT_EQ(b.repeat(1, 5).outermost_count, 5);
  EXPECT_THROW(b.repeat(1, 5).repeat(1, 2), Error);
  static_assert(std::is_same_v<decltype(row_major<Location::device>(x, 2, 3)),
                               StridedView<double, 2, Location::device>>);
  static_assert(MdspanLike<Mdspan<const float, 2>> && !MdspanLike<MatrixView<float>> && !StridedMatrix<int>);
  EXPECT_EQ(as_columns("x", layout_left<double, 2>(x, {2, 3})).ld, 2);
  EXPECT_THROW(as_columns("x", r), Error);
}

}  // namespace
}  // namespace tilewright::testing
