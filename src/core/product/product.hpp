// A product of arrays with any strides, as NumPy-like callers make it, expressed as problems of the library
// and their operands: in as few calls as its levels of batches allow and without copies.
#pragma once

#include <algorithm>
#include <complex>
#include <vector>

#include "core/problem.hpp"
#include "core/product/overlap.hpp"

namespace tilewright {

struct Factors {
  std::complex<double> alpha = 1, beta = 0;
  bool conj_a = false, conj_b = false;
  bool sum = false;  // the products of the batch are added up in one c, whose strides along the batch are 0
  const char* c_name = "out";  // in messages
  bool apart = false;          // true if c shares no element with a and b, whatever their ranges are
};

// Flags for operands that no problem can express as they lie. The caller replaces these by packed copies (c
// by a packed result that it copies back) and constructs the Product again.
enum Copies : unsigned { copy_none = 0, copy_a = 1, copy_b = 2, copy_c = 4 };

// c = alpha op(a) op(b) + beta c, where op conjugates or not; a is (batch..., m, k), b (batch..., k, n), c
// (batch..., m, n), and batches of a and b broadcast to that of c. All operands have one type and lie in one
// memory. If copies() is not copy_none, nothing else is known yet. Throws Error naming both of two shapes
// that do not fit.
class Product {
 public:
  // The problem's A, B or C: the first matrix of the batch.
  struct Matrix {
    char* data = nullptr;
    std::int64_t ld = 1;
    Op op = Op::none;
  };
  // A level of the batch: its parts, and the distance in elements between them in each operand.
  struct Level {
    std::int64_t count, a, b, c;
  };

  Product(const ArrayView& a, const ArrayView& b, const ArrayView& c, const Factors& factors);

  unsigned copies() const noexcept { return copies_; }
  bool swapped() const noexcept { return swapped_; }  // true if the problem's A is b
  // False if c has no elements, or if there are no products and no sum: a sum of no products is written too.
  bool is_written() const noexcept { return factors_.sum ? !no_elements_ : !empty_; }
  double work() const noexcept;  // multiplications of elements in all
  DType dtype() const noexcept { return dtype_; }
  Location location() const noexcept { return location_; }
  // Sizes and operands of the problem, whose sides may be swapped.
  std::int64_t m() const noexcept { return m_; }
  std::int64_t n() const noexcept { return n_; }
  std::int64_t k() const noexcept { return k_; }
  // Returns the problem of one call; if the product takes several calls, each has this problem.
  GemmProblem problem() const;
  const Factors& factors() const noexcept { return factors_; }
  const Matrix& a() const noexcept { return left_; }
  const Matrix& b() const noexcept { return right_; }
  const Matrix& c() const noexcept { return result_; }
  // The levels from the outermost inwards. The innermost three are part of problem().
  std::span<const Level> levels() const noexcept { return {levels_, std::size_t(level_count_)}; }

  // Calls f(a, b, c) for each call with the offsets, in elements, of its operands from those of the first.
  template <class F>
  void for_each_call(F&& f) const;

  // The addresses at which the problem's A, B and C begin.
  struct Addresses {
    std::vector<char*> a, b, c;
  };
  Addresses addresses() const;

 private:
  // Sizes of one matrix and the strides of its rows and columns.
  struct Shape {
    std::int64_t rows, cols, row_stride, col_stride;
    Shape transposed() const { return {cols, rows, col_stride, row_stride}; }
  };

  static bool by_columns(const Shape& x, std::int64_t& ld);
  static bool as_operand(const Shape& x, bool conj, Matrix& to);
  void describe_empty(const ArrayView& c);
  void find_sizes(const ArrayView& a, const ArrayView& b, const ArrayView& c);
  void find_levels(const ArrayView& a, const ArrayView& b, const ArrayView& c);
  bool may_repeat(const Shape& c) const;
  void join_levels();
  void describe_sum(GemmProblem& p) const;
  unsigned find_operands(const Shape& a, const Shape& b, const Shape& c, bool by_rows);

  DType dtype_;
  Location location_;
  Factors factors_;
  unsigned copies_ = copy_none;
  std::int64_t m_ = 0, n_ = 0, k_ = 0;  // of the problem of one call, whose sides may have been swapped
  Matrix left_, right_, result_;
  bool swapped_ = false;
  bool empty_ = false, no_elements_ = false;  // no products; a result without elements

  int level_count_ = 0;
  Level levels_[ArrayView::most_dims];  // NOLINT: level_count_ of them are set, the outermost first
};

template <class F>
void Product::for_each_call(F&& f) const {
  const int outside = std::max(level_count_ - int(most_batch_levels), 0);
  std::int64_t index[ArrayView::most_dims] = {};  // NOLINT: `outside` of them are used
  std::int64_t at_a = 0, at_b = 0, at_c = 0;
  for (;;) {
    f(at_a, at_b, at_c);
    int i = outside - 1;
    for (; i >= 0; --i) {
      const Level& level = levels_[i];
      at_a += level.a, at_b += level.b, at_c += level.c;
      if (++index[i] < level.count) break;
      at_a -= level.count * level.a, at_b -= level.count * level.b, at_c -= level.count * level.c;
      index[i] = 0;
    }
    if (i < 0) return;
  }
}

}  // namespace tilewright
