// Elements of a batch for checks: random values with guards around each operand and NaN where beta = 0 must
// not read, and the comparison of a result with plain loops. Who computes the result, a device or an
// emulation, is the caller's matter.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>

#include "core/dispatch.hpp"
#include "gemm_small_batch.hpp"
#include "measure/typed_values.hpp"

namespace tilewright::bench {

struct CheckResult {
  double error = 0;   // largest element error over its bound; above 1 is wrong
  std::string fault;  // "" = none
};

template <class T>
class SmallData {
 public:
  static constexpr std::size_t guard = 256 / sizeof(T);  // elements on both sides of an operand

  SmallData(const SmallBatch& batch, std::mt19937& random) : batch_(batch) {
    const GemmProblem& p = batch.one().problem;
    for (int operand = 0; operand < 3; ++operand) {
      std::vector<T>& x = values_[operand];
      x.resize(2 * guard + static_cast<std::size_t>(batch.one().shift + batch.elements(operand)));
      for (T& value : x) value = random_value<T>(random);
    }
    const auto scalar = [&](Scalar kind) {
      return kind == Scalar::zero ? T(0) : kind == Scalar::one ? T(1) : random_value<T>(random);
    };
    for (std::int64_t q = 0; q < batch.count(); ++q) {
      const bool vary = batch.one().scalars_vary;
      alphas_.push_back(scalar(vary ? static_cast<Scalar>(random() % 3) : p.alpha));
      betas_.push_back(scalar(vary ? static_cast<Scalar>(random() % 3) : p.beta));
      if (!vary) alphas_.back() = alphas_.front(), betas_.back() = betas_.front();
    }
    for (std::int64_t q = 0; q < batch.count(); ++q) {
      if (betas_[std::size_t(q)] == T(0)) spoil(2, q);
      if (alphas_[std::size_t(q)] == T(0) && !broadcasts()) spoil(0, q), spoil(1, q);
    }
  }

  // The operand with its guards, and where its first element lies within.
  const std::vector<T>& values(int operand) const { return values_[operand]; }
  std::size_t base() const { return guard + static_cast<std::size_t>(batch_.one().shift); }
  const std::vector<T>& alphas() const { return alphas_; }
  const std::vector<T>& betas() const { return betas_; }

  // Addresses of the matrices of one operand whose base is `base`, the wrong ones null.
  std::vector<const T*> addresses(int operand, const T* base) const {
    std::vector<const T*> result;
    const SmallFault null[] = {SmallFault::null_a, SmallFault::null_b, SmallFault::null_c};
    for (std::int64_t q = 0; q < batch_.count(); ++q)
      result.push_back(batch_.fault(q) == null[operand] ? nullptr : base + batch_.matrix(operand, q).at);
    return result;
  }
  // One of the arrays m, n, k, lda, ldb, ldc with the wrong sizes in it.
  std::vector<std::int64_t> sizes(int which) const {
    std::vector<std::int64_t> result = batch_.sizes(which);
    for (std::int64_t q = 0; q < batch_.count(); ++q) {
      if (which == 0 && batch_.fault(q) == SmallFault::bad_m) result[std::size_t(q)] = -1;
      if (which == 1 && batch_.fault(q) == SmallFault::large_n) result[std::size_t(q)] = 1 << 20;
      if (which == 3 && batch_.fault(q) == SmallFault::bad_lda) result[std::size_t(q)] = 0;
    }
    return result;
  }

  // `out` is C with its guards; `info` may be empty.
  CheckResult compare(const std::vector<T>& out, const std::vector<int>& info) const {
    CheckResult result;
    const std::vector<T>& before = values_[2];
    std::vector<bool> covered(before.size());
    for (std::int64_t q = 0; q < batch_.stored(); ++q) {
      if (q >= batch_.count()) {
        cover(q, covered);
        continue;
      }
      if (!info.empty() && info[std::size_t(q)] != expected_code(q) && result.fault.empty())
        result.fault =
            fmt::format("info of problem {} is {} instead of {}", q, info[std::size_t(q)], expected_code(q));
      if (expected_code(q) != 0) continue;
      cover(q, covered);
      compare_problem(q, out, result);
    }
    for (std::size_t e = 0; e < before.size() && result.fault.empty(); ++e)
      if (!covered[e] && std::memcmp(&out[e], &before[e], sizeof(T)) != 0)
        result.fault = fmt::format("element {} outside every C was written", e);
    return result;
  }

 private:
  bool broadcasts() const {
    const GemmProblem& p = batch_.one().problem;
    return p.layout == Layout::strided && (p.stride_a == 0 || p.stride_b == 0);
  }
  void spoil(int operand, std::int64_t q) {
    const SmallMatrix m = batch_.matrix(operand, q);
    for (std::int64_t j = 0; j < m.columns; ++j)
      for (std::int64_t i = 0; i < m.rows; ++i)
        values_[operand][base() + std::size_t(m.place(i, j))] = nan_value<T>();
  }
  int expected_code(std::int64_t q) const {
    const int code = batch_.code(q);
    const GemmProblem p = batch_.problem(q);
    const bool empty = p.m == 0 || p.n == 0;
    const bool multiplies = alphas_[std::size_t(q)] != T(0) && p.k > 0;
    if ((code == -7 || code == -9) && (empty || !multiplies)) return 0;
    return code == -12 && empty ? 0 : code;
  }
  void cover(std::int64_t q, std::vector<bool>& covered) const {
    const SmallMatrix m = batch_.matrix(2, q);
    // The rows below a matrix of a padding problem are padding as well.
    const std::int64_t rows = q < batch_.count() ? m.rows : m.ld;
    for (std::int64_t j = 0; j < m.columns; ++j)
      for (std::int64_t i = 0; i < rows; ++i) covered[base() + std::size_t(m.place(i, j))] = true;
  }
  T operand(int which, const SmallMatrix& m, Op op, std::int64_t i, std::int64_t j) const {
    const std::int64_t at = op == Op::none ? m.place(i, j) : m.place(j, i);
    return conjugated(values_[which][base() + std::size_t(at)], op);
  }
  void compare_problem(std::int64_t q, const std::vector<T>& out, CheckResult& result) const {
    const GemmProblem p = batch_.problem(q);
    const SmallMatrix a = batch_.matrix(0, q), b = batch_.matrix(1, q), c = batch_.matrix(2, q);
    const T alpha = alphas_[std::size_t(q)], beta = betas_[std::size_t(q)];
    for (std::int64_t j = 0; j < p.n; ++j)
      for (std::int64_t i = 0; i < p.m; ++i) {
        T wanted{};
        double size = 0;
        for (std::int64_t l = 0; l < p.k && alpha != T(0); ++l) {
          const T x = operand(0, a, p.op_a, i, l), y = operand(1, b, p.op_b, l, j);
          wanted += x * y;
          size += std::abs(x) * std::abs(y);
        }
        wanted *= alpha;
        size *= std::abs(alpha);
        const std::size_t at = base() + std::size_t(c.place(i, j));
        if (beta != T(0)) {
          wanted += beta * values_[2][at];
          size += std::abs(beta) * std::abs(values_[2][at]);
        }
        const double share = share_of_bound(out[at], wanted, size, double(p.k));
        result.error = std::max(result.error, share);
        if (share > 1 && result.fault.empty())
          result.fault = fmt::format("problem {} of {}, element ({}, {}) is wrong", q, batch_.count(), i, j);
      }
  }

  const SmallBatch& batch_;
  std::vector<T> values_[3];
  std::vector<T> alphas_, betas_;
};

}  // namespace tilewright::bench
