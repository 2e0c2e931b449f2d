// Random operands for any fixed-size problem, with small integers as elements so that every sum is exact in
// every type and results may be compared with ==. Padding and unread C hold NaN.
#pragma once

#include <limits>
#include <random>
#include <vector>

#include "gemm/operand.hpp"
#include "gemm/run/reference.hpp"

namespace tilewright {

template <class T>
T not_a_number() {
  const auto nan = std::numeric_limits<decltype(std::abs(T()))>::quiet_NaN();
  return T(nan);
}

template <class T>
class TestOperands {
 public:
  explicit TestOperands(const GemmProblem& problem, unsigned seed = 1)
      : problem_(problem), random_(seed), alpha(2), beta(-3) {
    if (problem.alpha != Scalar::general) alpha = T(problem.alpha == Scalar::one);
    if (problem.beta != Scalar::general) beta = T(problem.beta == Scalar::one);
    fill(layout_a(problem), a, a_pointers, true);
    fill(layout_b(problem), b, b_pointers, true);
    fill(layout_c(problem), c, c_pointers, problem.beta != Scalar::zero);
    if (problem.beta == Scalar::zero) std::fill(c.begin(), c.end(), not_a_number<T>());
  }

  bool pointers() const { return problem_.layout == Layout::pointer; }
  Operands operands() {
    Operands o;
    o.a = pointers() ? static_cast<const void*>(a_pointers.data()) : a.data();
    o.b = pointers() ? static_cast<const void*>(b_pointers.data()) : b.data();
    o.c = pointers() ? static_cast<void*>(c_pointers.data()) : c.data();
    o.alpha = &alpha;
    o.beta = &beta;
    return o;
  }

  // Returns C after the reference has run on a copy of these operands.
  std::vector<T> expected() const {
    TestOperands copy = *this;
    for (std::size_t i = 0; i < c_pointers.size(); ++i)
      copy.c_pointers[i] = copy.c.data() + (c_pointers[i] - c.data());
    gemm_reference(problem_, copy.operands());
    return copy.c;
  }

  static bool same(const std::vector<T>& x, const std::vector<T>& y) {
    for (std::size_t i = 0; i < x.size(); ++i)
      if (x[i] != y[i] && !(x[i] != x[i] && y[i] != y[i])) return false;
    return x.size() == y.size();
  }

  std::vector<T> a, b, c;
  std::vector<T*> a_pointers, b_pointers, c_pointers;

 private:
  T element() {
    std::uniform_int_distribution<int> small(-4, 4);
    if constexpr (is_complex(dtype_of<T>)) return T(float(small(random_)), float(small(random_)));
    return T(float(small(random_)));
  }

  void fill(const OperandLayout& layout, std::vector<T>& data, std::vector<T*>& to, bool elements) {
    const GemmProblem& p = problem_;
    const std::int64_t matrix = layout.ld * layout.cols;
    const std::int64_t steps =
        (p.batch_count + problems_per_step(p) - 1) / std::max<std::int64_t>(1, problems_per_step(p));
    const std::int64_t step = pointers() ? matrix + 3 : layout.step;
    const std::int64_t last = is_interleaved(p) ? step : matrix;
    data.assign(std::size_t(steps > 0 ? (steps - 1) * step + last : 0), not_a_number<T>());
    // Pointer batches lie in reverse order, so that neighbours in the batch are not neighbours in memory.
    if (pointers())
      for (std::int64_t i = p.batch_count - 1; i >= 0; --i) to.push_back(data.data() + i * step);
    if (!elements) return;
    const void* base = pointers() ? static_cast<const void*>(to.data()) : data.data();
    for (std::int64_t i = 0; i < p.batch_count; ++i) {
      const Matrix<T> matrix_i = matrix_of<T>(p, layout, base, i);
      for (std::int64_t col = 0; col < layout.cols; ++col)
        for (std::int64_t row = 0; row < layout.rows; ++row) matrix_i(row, col) = element();
    }
  }

  GemmProblem problem_;
  std::mt19937 random_;

 public:
  T alpha, beta;
};

}  // namespace tilewright
