// Eigenvalues and singular values of one column-major matrix by Jacobi's rotations, as kernel/factor_cpu
// computes them for many small ones.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>

#include "factor/columns.hpp"
#include "factor/householder.hpp"
#include "kernel/factor_cpu/kernel.hpp"

namespace tilewright {

inline constexpr int most_jacobi_sweeps = 40;

// Columns x, y = c x - conj(s) y, s x + c y with real c, which makes the Hermitian [a z; conj(z) b] diagonal:
// a becomes a - t |z|, b becomes b + t |z|.
template <class T>
struct ColumnRotation {
  using R = RealPart<T>;
  R cosine, tangent;
  T sine;

  // `angle` is (b - a) / (2 |z|), `direction` z / |z|.
  ColumnRotation(R angle, T direction) {
    tangent = std::copysign(1 / (std::abs(angle) + std::hypot(angle, R(1))), angle);
    cosine = 1 / std::sqrt(tangent * tangent + 1);
    sine = direction * (tangent * cosine);
  }
  void apply(T* x, T* y, std::int64_t n) const {
    const T minus_conj = -conj_of(sine);
#pragma omp simd
    for (std::int64_t i = 0; i < n; ++i) {
      const T old = x[i];
      x[i] = cosine * old + product(minus_conj, y[i]);
      y[i] = product(sine, old) + cosine * y[i];
    }
  }
};

// A square matrix, zero or the identity at first.
template <class T>
struct SquareColumns {
  explicit SquareColumns(std::int64_t order, T diagonal = T(0))
      : n(order), elements(std::size_t(order * order)) {
    for (std::int64_t i = 0; i < n; ++i) column(i)[i] = diagonal;
  }
  T* column(std::int64_t j) { return elements.data() + j * n; }

  std::int64_t n;
  std::vector<T> elements;
};

template <class T>
bool is_finite(const T* x, std::int64_t n) {
  return std::all_of(x, x + n,
                     [](const T& v) { return std::isfinite(std::real(v)) && std::isfinite(std::imag(v)); });
}

// The positions of values in ascending or descending order.
template <class R>
std::vector<std::int64_t> order_of(const std::vector<R>& values, bool largest_first) {
  std::vector<std::int64_t> order(values.size());
  std::iota(order.begin(), order.end(), std::int64_t(0));
  std::stable_sort(order.begin(), order.end(), [&](std::int64_t i, std::int64_t j) {
    const R x = values[std::size_t(i)], y = values[std::size_t(j)];
    return largest_first ? x > y : x < y;
  });
  return order;
}

// The eigenvalues of a Hermitian matrix in ascending order, and eigenvectors if they are wanted.
template <class T>
class OneEigenproblem {
  using R = RealPart<T>;

 public:
  // Only the triangle of A is read.
  OneEigenproblem(std::int64_t n, const T* a, std::int64_t lda, bool upper) : n_(n), a_(n) {
    for (std::int64_t j = 0; j < n; ++j)
      for (std::int64_t i = j; i < n; ++i) {
        const T v = i == j ? T(real_of(a[j * lda + j])) : upper ? conj_of(a[i * lda + j]) : a[j * lda + i];
        a_.column(j)[i] = v, a_.column(i)[j] = conj_of(v);
      }
  }

  // Returns info. vectors: n x n, or null.
  int run(R* values, T* vectors, std::int64_t ldv) {
    if (!is_finite(a_.elements.data(), n_ * n_)) {
      std::fill_n(values, n_, std::numeric_limits<R>::quiet_NaN());
      return int(std::min<std::int64_t>(pairs_of_columns(n_), std::numeric_limits<int>::max()));
    }
    const R largest = largest_in_column(a_.elements.data(), n_ * n_), power = power_of_two_below(largest);
    for (T& v : a_.elements) v /= power;
    negligible_ = largest / power * std::numeric_limits<R>::epsilon() / 4;
    SquareColumns<T> products(vectors != nullptr ? n_ : 0, T(1));
    int left = 1;
    for (int sweep = 0; sweep < most_jacobi_sweeps && left > 0; ++sweep) left = rotate_all(products);
    std::vector<R> unsorted(static_cast<std::size_t>(n_));
    for (std::int64_t i = 0; i < n_; ++i) unsorted[std::size_t(i)] = real_of(a_.column(i)[i]) * power;
    const auto order = order_of(unsorted, false);
    for (std::int64_t j = 0; j < n_; ++j) {
      values[j] = unsorted[std::size_t(order[std::size_t(j)])];
      if (vectors != nullptr) std::copy_n(products.column(order[std::size_t(j)]), n_, vectors + j * ldv);
    }
    return left;
  }

 private:
  // Returns how many rotations there were.
  int rotate_all(SquareColumns<T>& products) {
    int rotations = 0;
    for (std::int64_t p = 0; p + 1 < n_; ++p)
      for (std::int64_t q = p + 1; q < n_; ++q) {
        const T z = a_.column(q)[p];
        const R size = std::abs(z);
        if (size <= negligible_) continue;
        ++rotations;
        T *const x = a_.column(p), *const y = a_.column(q);
        const R first = real_of(x[p]), second = real_of(y[q]);
        const ColumnRotation<T> rotation((second - first) / (2 * size), z / size);
        rotation.apply(x, y, n_);
        x[p] = first - rotation.tangent * size, y[q] = second + rotation.tangent * size;
        x[q] = y[p] = T(0);
        for (std::int64_t k = 0; k < n_; ++k) {  // the rows are the adjoints of the columns
          if (k == p || k == q) continue;
          a_.column(k)[p] = conj_of(x[k]), a_.column(k)[q] = conj_of(y[k]);
        }
        if (products.n > 0) rotation.apply(products.column(p), products.column(q), n_);
      }
    return rotations;
  }

  std::int64_t n_;
  SquareColumns<T> a_;
  R negligible_ = 0;
};

// Makes the columns of W orthogonal by rotations, whose product J becomes; returns the pairs that are left.
template <class T>
int make_orthogonal(SquareColumns<T>& w, SquareColumns<T>& products) {
  using R = RealPart<T>;
  using Limits = std::numeric_limits<R>;
  const R least = std::sqrt(Limits::min() / Limits::epsilon());
  const R negligible = Limits::epsilon() * std::sqrt(R(w.n + 4));
  const auto norm = [&](const T* x) {
    return std::max(std::sqrt(real_of(conjugate_product(x, x, w.n))), least);
  };
  std::vector<R> norms(static_cast<std::size_t>(w.n));
  for (std::int64_t j = 0; j < w.n; ++j) norms[std::size_t(j)] = norm(w.column(j));
  int rotations = 1;
  for (int sweep = 0; sweep < most_jacobi_sweeps && rotations > 0; ++sweep) {
    rotations = 0;
    for (std::int64_t p = 0; p + 1 < w.n; ++p)
      for (std::int64_t q = p + 1; q < w.n; ++q) {
        T *const x = w.column(p), *const y = w.column(q);
        const R first = norm(x), second = norm(y);
        const T cosine = conjugate_product(x, y, w.n) / first / second;
        const R size = std::abs(cosine);
        if (size <= negligible) continue;
        ++rotations;
        const R ratio = second / first;
        const ColumnRotation<T> rotation((ratio - 1 / ratio) / (2 * size), cosine / size);
        rotation.apply(x, y, w.n);
        if (products.n > 0) rotation.apply(products.column(p), products.column(q), w.n);
      }
    // A column that lost all digits of its norm is a combination of others, of which only rounding errors are
    // left. They would be orthogonal to nothing in a space that other columns fill.
    for (std::int64_t j = 0; j < w.n; ++j) {
      R& before = norms[std::size_t(j)];
      const R now = norm(w.column(j));
      if (now < 4 * negligible * before) std::fill_n(w.column(j), w.n, T(0));
      before = now;
    }
  }
  return rotations;
}

// The singular values of a matrix in descending order, and singular vectors if they are wanted. A tall A is
// Q R, and R^H J = W with orthogonal columns: so A = (Q J) diag(norms of W) (W / norms)^H. A wide A is the
// adjoint of a tall one.
template <class T>
class OneSingularProblem {
  using R = RealPart<T>;

 public:
  OneSingularProblem(const HostBlas& blas, std::int64_t m, std::int64_t n, const T* a, std::int64_t lda)
      : blas_(blas),
        is_tall_(m >= n),
        rows_(std::max(m, n)),
        k_(std::min(m, n)),
        tall_(std::size_t(m * n)),
        tau_(static_cast<std::size_t>(k_)),
        w_(k_) {
    for (std::int64_t j = 0; j < k_; ++j)
      for (std::int64_t i = 0; i < rows_; ++i)
        tall_[std::size_t(j * rows_ + i)] = is_tall_ ? a[j * lda + i] : conj_of(a[i * lda + j]);
  }

  // Returns info. u is m x k and vh k x n, or both are null.
  int run(R* values, T* u, std::int64_t ldu, T* vh, std::int64_t ldvh) {
    const std::int64_t count = rows_ * k_;
    if (!is_finite(tall_.data(), count)) {
      std::fill_n(values, k_, std::numeric_limits<R>::quiet_NaN());
      return int(std::min<std::int64_t>(pairs_of_columns(k_), std::numeric_limits<int>::max()));
    }
    // Sums of squares stay finite, and those of small columns normal.
    const R power = power_of_two_below(largest_in_column(tall_.data(), count));
    const R scale = std::ldexp(R(1), std::numeric_limits<R>::max_exponent / 2 - 17);
    for (T& v : tall_) v = v / power * scale;
    factor_householder(blas_, rows_, k_, tall_.data(), rows_, tau_.data());
    for (std::int64_t j = 0; j < k_; ++j)
      for (std::int64_t i = j; i < k_; ++i) w_.column(j)[i] = conj_of(tall_[std::size_t(i * rows_ + j)]);
    SquareColumns<T> products(u != nullptr ? k_ : 0, T(1));
    const int left = make_orthogonal(w_, products);
    std::vector<R> norms(static_cast<std::size_t>(k_));
    for (std::int64_t j = 0; j < k_; ++j)
      norms[std::size_t(j)] = std::sqrt(real_of(conjugate_product(w_.column(j), w_.column(j), k_)));
    order_ = order_of(norms, true);
    for (std::int64_t j = 0; j < k_; ++j)
      values[j] = norms[std::size_t(order_[std::size_t(j)])] / scale * power;
    if (u != nullptr) give_vectors(products, u, ldu, vh, ldvh);
    return left;
  }

 private:
  void give_vectors(SquareColumns<T>& products, T* u, std::int64_t ldu, T* vh, std::int64_t ldvh) {
    std::vector<T> of_tall(std::size_t(rows_ * k_));
    for (std::int64_t j = 0; j < k_; ++j)
      std::copy_n(products.column(order_[std::size_t(j)]), k_, &of_tall[std::size_t(j * rows_)]);
    apply_householder(blas_, rows_, k_, tall_.data(), rows_, tau_.data(), false, of_tall.data(), rows_, k_);
    SquareColumns<T> of_wide = normalized();
    const T* const left = is_tall_ ? of_tall.data() : of_wide.column(0);
    const T* const right = is_tall_ ? of_wide.column(0) : of_tall.data();
    const std::int64_t m = is_tall_ ? rows_ : k_, n = is_tall_ ? k_ : rows_;
    for (std::int64_t j = 0; j < k_; ++j) {
      std::copy_n(left + j * m, m, u + j * ldu);
      for (std::int64_t i = 0; i < n; ++i) vh[i * ldvh + j] = conj_of(right[j * n + i]);
    }
  }

  // The columns of W in order and divided by their norms: they are Q R with a diagonal R, and Q is
  // orthonormal even where columns are zero.
  SquareColumns<T> normalized() {
    SquareColumns<T> factors(k_), q(k_, T(1));
    for (std::int64_t j = 0; j < k_; ++j)
      std::copy_n(w_.column(order_[std::size_t(j)]), k_, factors.column(j));
    factor_householder(blas_, k_, k_, factors.column(0), k_, tau_.data());
    apply_householder(blas_, k_, k_, factors.column(0), k_, tau_.data(), false, q.column(0), k_, k_);
    for (std::int64_t j = 0; j < k_; ++j)
      if (real_of(factors.column(j)[j]) < 0)
        std::transform(q.column(j), q.column(j) + k_, q.column(j), [](const T& v) { return -v; });
    return q;
  }

  const HostBlas& blas_;
  bool is_tall_;
  std::int64_t rows_, k_;
  std::vector<T> tall_, tau_;
  SquareColumns<T> w_;
  std::vector<std::int64_t> order_;
};

}  // namespace tilewright
