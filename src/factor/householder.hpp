// Householder's reflectors of one column-major matrix, with the signs and tau of LAPACK xLARFG. Blocks of
// them are applied by products of matrices (Schreiber and Van Loan 1989).
#pragma once

#include <algorithm>
#include <vector>

#include "factor/columns.hpp"
#include "kernel/factor_cpu/kernel.hpp"
#include "lu/blas.hpp"

namespace tilewright {

inline constexpr std::int64_t reflector_block = 32;

// Makes H with H^H x = (beta, 0, ...): beta and v, whose first element is 1, overwrite x. Returns tau.
template <class T>
T make_column_reflector(T* x, std::int64_t n) {
  using R = RealPart<T>;
  const T alpha = x[0];
  const R below = largest_in_column(x + 1, n - 1);
  if (below == 0 && std::imag(alpha) == 0) return T(0);
  const R scale = power_of_two_below(std::max(below, largest_part(alpha)));
  for (std::int64_t i = 1; i < n; ++i) x[i] /= scale;
  const T scaled = alpha / scale;
  const R squares =
      real_of(conjugate_product(x + 1, x + 1, n - 1)) + real_of(product(conj_of(scaled), scaled));
  const R beta = -std::copysign(std::sqrt(squares), real_of(alpha));
  const T inverse = T(1) / (scaled - beta);
  for (std::int64_t i = 1; i < n; ++i) x[i] = product(x[i], inverse);
  x[0] = beta * scale;
  return (beta - scaled) / beta;
}

// c -= v tau v^H c; the first element of v counts as 1.
template <class T>
void reflect_column(const T* v, std::int64_t n, T tau, T* c) {
  const T factor = product(tau, c[0] + conjugate_product(v + 1, c + 1, n - 1));
  c[0] -= factor;
  subtract_multiple(c + 1, factor, v + 1, n - 1);
}

// The product I - V T V^H of neighbouring reflectors.
template <class T>
class BlockReflector {
 public:
  // They begin at a's diagonal and have `rows` elements and fewer.
  BlockReflector(const T* a, std::int64_t lda, std::int64_t rows, std::int64_t width, const T* tau)
      : rows_(rows), width_(width), v_(std::size_t(rows * width)), t_(std::size_t(width * width)) {
    for (std::int64_t j = 0; j < width; ++j) {
      T* const v = &v_[std::size_t(j * rows)];
      v[j] = T(1);
      std::copy(a + j * lda + j + 1, a + j * lda + rows, v + j + 1);
      T* const t = &t_[std::size_t(j * width)];
      t[j] = tau[j];
      for (std::int64_t i = 0; i < j; ++i)
        t[i] = conjugate_product(&v_[std::size_t(i * rows + j)], v + j, rows - j);
      for (std::int64_t i = 0; i < j; ++i) {
        T sum(0);
        for (std::int64_t k = i; k < j; ++k) sum += product(t_[std::size_t(k * width + i)], t[k]);
        t[i] = -product(tau[j], sum);
      }
    }
  }

  // C = H C or H^H C for C with as many rows as the reflectors.
  void apply(const HostBlas& blas, bool adjoint, T* c, std::int64_t ldc, std::int64_t cols) const {
    if (cols == 0) return;
    std::vector<T> sums(std::size_t(width_ * cols)), factors(sums.size());
    blas.subtract_product<T>(Op::conj_trans, Op::none, width_, cols, rows_, v_.data(), rows_, c, ldc,
                             sums.data(), width_);
    for (std::int64_t j = 0; j < cols; ++j)
      for (std::int64_t i = 0; i < width_; ++i) {
        T sum(0);
        const T* const of_j = &sums[std::size_t(j * width_)];
        if (adjoint)
          for (std::int64_t k = 0; k <= i; ++k)
            sum -= product(conj_of(t_[std::size_t(i * width_ + k)]), of_j[k]);
        else
          for (std::int64_t k = i; k < width_; ++k) sum -= product(t_[std::size_t(k * width_ + i)], of_j[k]);
        factors[std::size_t(j * width_ + i)] = sum;
      }
    blas.subtract_product<T>(Op::none, Op::none, rows_, cols, width_, v_.data(), rows_, factors.data(),
                             width_, c, ldc);
  }

 private:
  std::int64_t rows_, width_;
  std::vector<T> v_, t_;
};

// True if the library's LAPACK factors m x n: above the sizes of lanes.
inline bool factors_by_lapack(const HostBlas& blas, std::int64_t m, std::int64_t n, std::int64_t lda) {
  return std::max(m, n) > most_lane_rows_of(Routine::geqrf) && blas.has_geqrf(m, n, lda);
}

// A = Q R for m x n.
template <class T>
void factor_householder(const HostBlas& blas, std::int64_t m, std::int64_t n, T* a, std::int64_t lda,
                        T* tau) {
  if (factors_by_lapack(blas, m, n, lda)) return blas.geqrf(m, n, a, lda, tau);
  const std::int64_t steps = std::min(m, n);
  for (std::int64_t first = 0; first < steps; first += reflector_block) {
    const std::int64_t last = std::min(first + reflector_block, steps);
    for (std::int64_t k = first; k < last; ++k) {
      T* const v = a + k * lda + k;
      tau[k] = make_column_reflector(v, m - k);
      for (std::int64_t j = k + 1; j < last; ++j) reflect_column(v, m - k, conj_of(tau[k]), a + j * lda + k);
    }
    if (last == n) break;
    T* const block = a + first * lda + first;
    BlockReflector<T>(block, lda, m - first, last - first, tau + first)
        .apply(blas, true, a + last * lda + first, lda, n - last);
  }
}

// C = Q C or, `adjoint`, Q^H C with the first `steps` reflectors of A; C has m rows.
template <class T>
void apply_householder(const HostBlas& blas, std::int64_t m, std::int64_t steps, const T* a, std::int64_t lda,
                       const T* tau, bool adjoint, T* c, std::int64_t ldc, std::int64_t cols) {
  const std::int64_t blocks = (steps + reflector_block - 1) / reflector_block;
  for (std::int64_t b = 0; b < blocks; ++b) {
    const std::int64_t first = (adjoint ? b : blocks - 1 - b) * reflector_block;
    const std::int64_t width = std::min(reflector_block, steps - first);
    BlockReflector<T>(a + first * lda + first, lda, m - first, width, tau + first)
        .apply(blas, adjoint, c + first, ldc, cols);
  }
}

}  // namespace tilewright
