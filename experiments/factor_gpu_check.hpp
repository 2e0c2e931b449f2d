// Matrices for the bench of small factorizations on a GPU, and the errors of its results in units of the
// rounding error: |A - L L^H|, |P A - L U| and |A X - B| over the sizes of what is multiplied.
#pragma once

#include <cmath>
#include <complex>
#include <limits>
#include <random>
#include <vector>

#include "core/dispatch.hpp"
#include "kernel/factor_cpu/kernel.hpp"

namespace tilewright::experiment {

template <class T>
struct RealPart {
  using Type = T;
};
template <class R>
struct RealPart<std::complex<R>> {
  using Type = R;
};

template <class T>
T random_element(std::mt19937& random) {
  using R = typename RealPart<T>::Type;
  const auto one = [&] { return R(int(random() % 2001) - 1000) / R(1000); };
  if constexpr (sizeof(T) == sizeof(R))
    return one();
  else
    return T(one(), one());
}

// Positive definite where the routine asks for it, triangles that are far from singular, or any.
template <class T>
std::vector<T> made_matrices(const LaneShape& p, std::int64_t count) {
  std::mt19937 random(1);
  std::vector<T> all(std::size_t(count * p.n * p.n));
  for (T& x : all) x = random_element<T>(random);
  if (p.routine == Routine::getrf || p.routine == Routine::gesv) return all;
  for (std::int64_t q = 0; q < count; ++q)
    for (std::int64_t i = 0; i < p.n; ++i) all[std::size_t((q * p.n + i) * p.n + i)] = T(2 * int(p.n));
  return all;
}
template <class T>
std::vector<T> made_sides(const LaneShape& p, std::int64_t count) {
  std::mt19937 random(2);
  std::vector<T> all(std::size_t(count * p.n * p.nrhs));
  for (T& x : all) x = random_element<T>(random);
  return all;
}

// Columns of the matrices before and after, of the right sides, and pivots.
template <class T>
double most_error(const LaneShape& p, std::int64_t count, const std::vector<T>& a_was,
                  const std::vector<T>& a, const std::vector<T>& b_was, const std::vector<T>& b,
                  const std::vector<int>& pivots) {
  using Wide = std::complex<double>;
  const std::int64_t n = p.n;
  double most = 0;
  const auto note = [&](Wide difference, double size) {
    const double error =
        std::abs(difference) / size / double(std::numeric_limits<typename RealPart<T>::Type>::epsilon());
    most = error <= most ? most : error;
  };
  const bool definite = p.routine == Routine::potrf || p.routine == Routine::posv;
  for (std::int64_t q = 0; q < count; ++q) {
    const auto was = [&](std::int64_t i, std::int64_t j) -> Wide {
      if (definite && i < j) return std::conj(Wide(a_was[std::size_t((q * n + i) * n + j)]));
      if (p.routine == Routine::trsm && i < j) return 0;
      return Wide(a_was[std::size_t((q * n + j) * n + i)]);
    };
    const auto now = [&](std::int64_t i, std::int64_t j) {
      return Wide(a[std::size_t((q * n + j) * n + i)]);
    };
    if (p.nrhs > 0) {
      const auto x = [&](const std::vector<T>& of, std::int64_t i, std::int64_t c) {
        return Wide(of[std::size_t((q * p.nrhs + c) * n + i)]);
      };
      for (std::int64_t c = 0; c < p.nrhs; ++c)
        for (std::int64_t i = 0; i < n; ++i) {
          Wide sum = -x(b_was, i, c);
          double size = 1;
          for (std::int64_t k = 0; k < n; ++k)
            sum += was(i, k) * x(b, k, c), size += std::abs(was(i, k)) * std::abs(x(b, k, c));
          note(sum, size);
        }
      continue;
    }
    std::vector<std::int64_t> row(static_cast<std::size_t>(n));
    for (std::int64_t i = 0; i < n; ++i) row[std::size_t(i)] = i;
    for (std::int64_t k = 0; k < n && p.routine == Routine::getrf; ++k)
      std::swap(row[std::size_t(k)], row[std::size_t(pivots[std::size_t(q * n + k)] - 1)]);
    for (std::int64_t j = 0; j < n; ++j)
      for (std::int64_t i = definite ? j : 0; i < n; ++i) {
        Wide sum = -was(row[std::size_t(i)], j);
        double size = std::abs(sum) + 1;
        for (std::int64_t k = 0; k <= std::min(i, j); ++k) {
          const Wide left = !definite && k == i ? Wide(1) : now(i, k);
          const Wide right = definite ? std::conj(now(j, k)) : now(k, j);
          sum += left * right, size += std::abs(left * right);
        }
        note(sum, size);
      }
  }
  return most;
}

}  // namespace tilewright::experiment
