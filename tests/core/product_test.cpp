// Products of arrays with any strides: a Product computes the same as loops over the arrays, also with more
// levels than a call has, and reports what it cannot express. Errors by rows use the caller's names.
#include "core/product/product.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <random>

#include "core/product/faults.hpp"
#include "core/product/overlap.hpp"
#include "gemm/call.hpp"
#include "gemm/context_impl.hpp"
#include "tilewright/gemm.hpp"

namespace tilewright {
namespace {

using Element = std::complex<double>;

// A buffer of small whole numbers and a view of it.
struct Array {
  std::vector<Element> buffer;
  ArrayView view;

  // Returns the offset of an element from its index in the batch and in the matrix. Batches broadcast from
  // the right.
  std::int64_t at(const std::vector<std::int64_t>& batch, std::int64_t i, std::int64_t j) const {
    std::int64_t offset = i * view.strides[view.ndim - 2] + j * view.strides[view.ndim - 1];
    const int own = view.ndim - 2, behind = int(batch.size()) - own;
    for (int d = 0; d < own; ++d)
      if (view.shape[d] != 1) offset += batch[std::size_t(behind + d)] * view.strides[d];
    return offset;
  }
  Element& element(const std::vector<std::int64_t>& batch, std::int64_t i, std::int64_t j) {
    return reinterpret_cast<Element*>(view.data)[at(batch, i, j)];
  }
};

class Draws {
 public:
  explicit Draws(unsigned seed) : generator_(seed) {}
  std::int64_t below(std::int64_t end) {
    return std::uniform_int_distribution<std::int64_t>(0, end - 1)(generator_);
  }

  // Makes an array of this shape whose dimensions lie in any order, some with a gap or reversed.
  Array array(const std::vector<std::int64_t>& shape) {
    Array made;
    made.view.dtype = DType::c128;
    made.view.ndim = int(shape.size());
    std::vector<int> order(shape.size());
    std::iota(order.begin(), order.end(), 0);
    if (below(2) == 0) std::shuffle(order.begin(), order.end() - 2, generator_);
    if (below(2) == 0) std::swap(order[order.size() - 2], order.back());
    if (below(4) == 0) std::shuffle(order.begin(), order.end(), generator_);
    std::int64_t stride = 1, first = 0;
    for (auto it = order.rbegin(); it != order.rend(); ++it) {
      const auto d = std::size_t(*it);
      const bool backwards = below(12) == 0;
      made.view.shape[d] = shape[d];
      made.view.strides[d] = backwards ? -stride : stride;
      if (backwards) first += (shape[d] - 1) * stride;
      stride = stride * shape[d] + (below(3) == 0 ? below(3) : 0);
    }
    made.buffer.resize(std::size_t(stride + first + 1));
    for (Element& x : made.buffer) x = {double(below(7)) - 3, double(below(7)) - 3};
    made.view.data = reinterpret_cast<char*>(made.buffer.data() + first);
    return made;
  }

 private:
  std::mt19937 generator_;
};

Element factor_of(Element x, bool conj) { return conj ? std::conj(x) : x; }

void multiply_by_loops(Array& a, Array& b, Array& c, const Factors& f, std::vector<std::int64_t> batch,
                       std::size_t level) {
  if (level < batch.size()) {
    for (batch[level] = 0; batch[level] < c.view.shape[level]; ++batch[level])
      multiply_by_loops(a, b, c, f, batch, level + 1);
    return;
  }
  const std::int64_t m = c.view.shape[c.view.ndim - 2], n = c.view.shape[c.view.ndim - 1];
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t j = 0; j < n; ++j) {
      Element sum = 0;
      for (std::int64_t l = 0; l < a.view.shape[a.view.ndim - 1]; ++l)
        sum += factor_of(a.element(batch, i, l), f.conj_a) * factor_of(b.element(batch, l, j), f.conj_b);
      Element& x = c.element(batch, i, j);
      x = f.alpha * sum + f.beta * x;
    }
}

void run(Context& context, const Product& product) {
  const Element alpha = product.factors().alpha, beta = product.factors().beta;
  product.for_each_call([&](std::int64_t at_a, std::int64_t at_b, std::int64_t at_c) {
    const auto address = [](const Product::Matrix& x, std::int64_t at) {
      return reinterpret_cast<Element*>(x.data) + at;
    };
    ProductCall call{
        product.problem(),
        {address(product.a(), at_a), address(product.b(), at_b), address(product.c(), at_c), &alpha, &beta}};
    run_call(Access::impl(context), call, {}, {});
  });
}

TEST(Product, ComputesWhatLoopsOverTheArraysDo) {
  Context context({.use_wisdom = false, .notices = false});
  int computed = 0, beyond_a_call = 0;
  for (unsigned seed = 0; seed < 3000; ++seed) {
    Draws draws(seed);
    const std::int64_t m = 1 + draws.below(4), n = 1 + draws.below(4), k = 1 + draws.below(4);
    std::vector<std::int64_t> batch(std::size_t(draws.below(6)));
    for (std::int64_t& count : batch) count = 1 + draws.below(3);
    const auto shape = [&](std::int64_t rows, std::int64_t cols, bool broadcast) {
      std::vector<std::int64_t> all = batch;
      for (std::int64_t& count : all)
        if (broadcast && draws.below(4) == 0) count = 1;
      if (broadcast && !all.empty() && draws.below(4) == 0) all.erase(all.begin());
      all.push_back(rows), all.push_back(cols);
      return all;
    };
    Array a = draws.array(shape(m, k, true)), b = draws.array(shape(k, n, true)),
          c = draws.array(shape(m, n, false));
    const Factors factors{double(draws.below(3)), double(draws.below(3)), draws.below(4) == 0,
                          draws.below(4) == 0};
    const Product product(a.view, b.view, c.view, factors);
    if (product.copies() != copy_none) continue;
    Array expected = c;
    expected.view.data = reinterpret_cast<char*>(expected.buffer.data()) +
                         (c.view.data - reinterpret_cast<char*>(c.buffer.data()));
    multiply_by_loops(a, b, expected, factors, std::vector<std::int64_t>(batch.size()), 0);
    run(context, product);
    ASSERT_EQ(c.buffer, expected.buffer) << "seed " << seed << " " << to_string(product.problem());
    ++computed;
    beyond_a_call += product.levels().size() > most_batch_levels;
  }
  EXPECT_GT(computed, 1000);
  EXPECT_GT(beyond_a_call, 20);
}

TEST(Product, SaysWhatHasToBeCopied) {
  Draws draws(1);
  Array a = draws.array({4, 4}), b = draws.array({4, 4}), c = draws.array({4, 4});
  const auto strided = [](Array& x, std::int64_t rows, std::int64_t cols) {
    x.buffer.resize(100);
    x.view.data = reinterpret_cast<char*>(x.buffer.data());
    x.view.strides[0] = rows, x.view.strides[1] = cols;
  };
  strided(a, 4, 1), strided(b, 1, 4), strided(c, 1, 4);
  EXPECT_EQ(Product(a.view, b.view, c.view, {}).copies(), copy_none);
  strided(a, 8, 2);
  EXPECT_EQ(Product(a.view, b.view, c.view, {}).copies(), copy_a);
  strided(b, 0, 0);
  EXPECT_EQ(Product(a.view, b.view, c.view, {}).copies(), copy_a | copy_b);
  strided(c, 2, 2);
  EXPECT_EQ(Product(a.view, b.view, c.view, {}).copies(), copy_c);
  strided(a, 4, 1), strided(c, 4, 1);
  EXPECT_EQ(Product(a.view, c.view, c.view, {}).copies(), copy_c) << "an operand is the result";
}

// By rows the problem's A is the caller's B: names, numbers and the order of checks are the caller's.
TEST(ArgumentNames, ByRowsAreTheCallers) {
  GemmProblem p = parse_problem("gemm:f64:nt:m=5,n=4,k=3");
  const auto fault = [&] { return *find_fault(p, argument_names_by_rows); };
  p.lda = 1, p.ldb = 1;
  EXPECT_STREQ(fault().argument, "lda");  // the problem's ldb
  EXPECT_EQ(fault().message, "lda = 1 is smaller than the 4 columns of A (row-major)");
  EXPECT_EQ(fault().blas_number, blas_number::lda);
  p.m = -1, p.n = -2;
  EXPECT_EQ(fault().message, "m = -2 is negative");
  EXPECT_EQ(find_fault(p)->message, "m = -1 is negative");
  const Addresses at{nullptr, &p, &p};
  EXPECT_EQ(address_fault(at, true, argument_names_by_rows)->message, "b is null");
  EXPECT_FALSE(address_fault(at, false, argument_names_by_rows));
}

}  // namespace
}  // namespace tilewright
