// A system of equations and its LU results, computed by the textbook.
#pragma once

#include <algorithm>
#include <cmath>

#include "door.hpp"

namespace tilewright::memory {

// A matrix, its factors by the textbook, its inverse, and a system whose solution is 1, 2, 3, ...
struct System {
  explicit System(std::int64_t size) : n(size) {
    const auto N = std::size_t(n);
    a.resize(N * N), x.resize(N), b.assign(N, 0);
    for (std::size_t i = 0; i < a.size(); ++i) a[i] = double(i * 37 % 101) / 50 - 1;
    for (std::size_t i = 0; i < N; ++i) a[i * N + (i + 1) % N] += 4;  // so that rows are exchanged
    for (std::size_t i = 0; i < N; ++i) x[i] = double(i + 1);
    for (std::size_t j = 0; j < N; ++j)
      for (std::size_t i = 0; i < N; ++i) b[i] += a[j * N + i] * x[j];
    lu = a, pivots.resize(N);
    factor();
    pivots_at.assign(N, 0), lu_at = a, x_at = b, info_at = {-1};
    invert();
  }

  std::int64_t n;
  Values a, lu, inverse, x, b;
  std::vector<std::int64_t> pivots;
  // Outputs of the calls; pivots are stored as numbers.
  Values lu_at, pivots_at, x_at, info_at;
  std::vector<std::int64_t> pivots_written = std::vector<std::int64_t>(64 * 4);
  Output factors() { return {&lu_at, a, lu, 1e-10}; }
  Output rows() { return {&pivots_at, Values(pivots.size(), 0), Values(pivots.begin(), pivots.end())}; }
  Output solution(const Values& before) { return {&x_at, before, x, 1e-7}; }

  void note_pivots() {
    for (std::size_t i = 0; i < pivots.size(); ++i) pivots_at[i] = double(pivots_written[i]);
  }
  void forget_pivots() { std::fill(pivots_written.begin(), pivots_written.end(), 0); }

 private:
  void factor() {
    const auto N = std::size_t(n);
    for (std::size_t j = 0; j < N; ++j) {
      std::size_t p = j;
      for (std::size_t i = j; i < N; ++i)
        if (std::abs(lu[j * N + i]) > std::abs(lu[j * N + p])) p = i;
      pivots[j] = std::int64_t(p + 1);
      for (std::size_t l = 0; l < N; ++l) std::swap(lu[l * N + j], lu[l * N + p]);
      for (std::size_t i = j + 1; i < N; ++i) lu[j * N + i] /= lu[j * N + j];
      for (std::size_t l = j + 1; l < N; ++l)
        for (std::size_t i = j + 1; i < N; ++i) lu[l * N + i] -= lu[j * N + i] * lu[l * N + j];
    }
  }
  void invert() {
    const auto N = std::size_t(n);
    inverse.assign(N * N, 0);
    for (std::size_t c = 0; c < N; ++c) {
      double* const y = inverse.data() + c * N;
      y[c] = 1;
      for (std::size_t i = 0; i < N; ++i) std::swap(y[i], y[std::size_t(pivots[i]) - 1]);
      for (std::size_t j = 0; j < N; ++j)
        for (std::size_t i = j + 1; i < N; ++i) y[i] -= lu[j * N + i] * y[j];
      for (std::size_t j = N; j-- > 0;) {
        y[j] /= lu[j * N + j];
        for (std::size_t i = 0; i < j; ++i) y[i] -= lu[j * N + i] * y[j];
      }
    }
  }
};

}  // namespace tilewright::memory
