// Operands of small integers and their expected products, for every layout of a batch.
#pragma once

#include <cmath>
#include <functional>

#include "door.hpp"

namespace tilewright::memory {

// Holds `count` products C = 2 A B + beta C, column-major and packed; element (i, j) of problem p lies at
// `place(p, i, j, rows)`.
class Batch {
 public:
  using Place = std::function<std::size_t(std::size_t p, std::size_t i, std::size_t j, std::size_t rows,
                                          std::size_t columns)>;

  Batch(std::int64_t rows_c, std::int64_t columns_c, std::int64_t inner, std::int64_t problems,
        double factor = 3, const Place& place = in_turn)
      : m(rows_c), n(columns_c), k(inner), count(problems), beta(factor) {
    const auto M = std::size_t(m), N = std::size_t(n), K = std::size_t(k), P = std::size_t(count);
    a.resize(M * K * P), b.resize(K * N * P), c.resize(M * N * P);
    for (std::size_t i = 0; i < a.size(); ++i) a[i] = double(i * 7 % 11) - 5;
    for (std::size_t i = 0; i < b.size(); ++i) b[i] = double(i * 5 % 13) - 6;
    for (std::size_t i = 0; i < c.size(); ++i) c[i] = double(i % 9);
    Values right = c;
    for (std::size_t p = 0; p < P; ++p)
      for (std::size_t j = 0; j < N; ++j)
        for (std::size_t i = 0; i < M; ++i) {
          double sum = 0;
          for (std::size_t l = 0; l < K; ++l) sum += a[place(p, i, l, M, K)] * b[place(p, l, j, K, N)];
          double& element = right[place(p, i, j, M, N)];
          element = alpha * sum + (beta == 0 ? 0 : beta * element);
        }
    output = {&c, c, std::move(right)};
    for (std::size_t p = 0; p < P; ++p) {
      a_of.push_back(a.data() + p * M * K), b_of.push_back(b.data() + p * K * N);
      c_of.push_back(c.data() + p * M * N);
    }
  }
  Batch(const Batch&) = delete;
  Batch& operator=(const Batch&) = delete;

  static std::size_t in_turn(std::size_t p, std::size_t i, std::size_t j, std::size_t rows,
                             std::size_t columns) {
    return (p * columns + j) * rows + i;
  }

  const std::int64_t m, n, k, count;
  const double alpha = 2, beta;
  Values a, b, c;
  std::vector<const void*> a_of, b_of;
  std::vector<void*> c_of;
  Output output;
};

// The sum of all products of `x` in the first C.
struct Sum {
  explicit Sum(Batch& batch) : x(batch), c(batch.c.begin(), batch.c.begin() + batch.m * batch.n) {
    Values right(c);
    for (double& element : right) element *= x.beta;
    for (std::int64_t p = 0; p < x.count; ++p)
      for (std::size_t i = 0; i < c.size(); ++i) {
        const std::size_t at = std::size_t(p) * c.size() + i;
        right[i] += x.output.right[at] - x.beta * x.output.before[at];
      }
    output = {&c, c, std::move(right)};
  }
  Batch& x;
  Values c;
  Output output;
};

}  // namespace tilewright::memory
