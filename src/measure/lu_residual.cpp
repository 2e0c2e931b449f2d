// Computes residuals by columns: P A e_j against L (U e_j), and b_j against A x_j.
#include "measure/lu_residual.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <vector>

#include "core/dispatch.hpp"
#include "device/team.hpp"
#include "measure/check_sampled.hpp"
#include "measure/typed_values.hpp"

namespace tilewright {

namespace {

template <class T>
class Residuals {
  using Wider = typename WideOf<T>::type;

 public:
  explicit Residuals(const LuVerifyInput& in)
      : in_(in), ld_(std::max<std::int64_t>(1, in.m)), rows_(std::size_t(in.m)) {
    for (std::size_t i = 0; i < rows_.size(); ++i) rows_[i] = std::int64_t(i);
    for (std::int64_t i = 0; i < std::min(in.m, in.n); ++i)
      std::swap(rows_[std::size_t(i)], rows_[std::size_t(in.pivots[i] - 1)]);
    norm_ = worst_of(in.n, [&](std::int64_t j) {
      double sum = 0;
      for (std::int64_t i = 0; i < in_.m; ++i) sum += double(std::abs(a()[j * ld_ + i]));
      return sum;
    });
  }

  double of_factors(const std::vector<std::int64_t>& columns) const {
    const double worst = worst_of(std::int64_t(columns.size()),
                                  [&](std::int64_t c) { return factor_residual(columns[std::size_t(c)]); });
    return share_of(worst, norm_ * double(std::max<std::int64_t>(1, in_.n)));
  }

  double of_solution(const std::vector<std::int64_t>& columns) const {
    return worst_of(std::int64_t(columns.size()),
                    [&](std::int64_t c) { return solve_residual(columns[std::size_t(c)]); });
  }

 private:
  static constexpr double epsilon = double(std::numeric_limits<decltype(std::abs(T()))>::epsilon());

  const T* a() const { return static_cast<const T*>(in_.a); }

  template <class F>
  double worst_of(std::int64_t count, F&& f) const {
    std::vector<double> all(static_cast<std::size_t>(count));
    run_each(in_.threads, count, [&](std::int64_t i) { all[std::size_t(i)] = f(i); });
    double worst = 0;
    for (const double x : all) {
      if (!(x <= worst)) worst = x;
      if (std::isnan(worst)) break;  // NaN stays the worst: later columns cannot change it
    }
    return worst;
  }

  double factor_residual(std::int64_t j) const {
    const T* const lu = static_cast<const T*>(in_.lu);
    std::vector<Wider> sum(rows_.size());
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] = -Wider(a()[j * ld_ + rows_[i]]);
    for (std::int64_t k = 0; k < std::min({j + 1, in_.m, in_.n}); ++k) {
      const Wider u(lu[j * ld_ + k]);
      sum[std::size_t(k)] += u;
      for (std::int64_t i = k + 1; i < in_.m; ++i) sum[std::size_t(i)] += Wider(lu[k * ld_ + i]) * u;
    }
    return size_of(sum);
  }

  double solve_residual(std::int64_t c) const {
    const T* const x = static_cast<const T*>(in_.x) + c * ld_;
    const T* const b = static_cast<const T*>(in_.b) + c * ld_;
    std::vector<Wider> sum(rows_.size());
    double x_size = 0;
    for (std::size_t i = 0; i < sum.size(); ++i) {
      sum[i] = -Wider(b[i]);
      x_size += double(std::abs(x[i]));
    }
    for (std::int64_t j = 0; j < in_.n; ++j)
      for (std::int64_t i = 0; i < in_.m; ++i) sum[std::size_t(i)] += Wider(a()[j * ld_ + i]) * Wider(x[j]);
    return share_of(size_of(sum), norm_ * x_size);
  }

  // The share is infinite if the size is not a number.
  static double share_of(double residual, double size) {
    if (!std::isfinite(size)) return std::numeric_limits<double>::quiet_NaN();
    return residual == 0 ? 0 : residual / (size * epsilon);
  }

  static double size_of(const std::vector<Wider>& x) {
    double sum = 0;
    for (const Wider& value : x) sum += double(std::abs(value));
    return sum;
  }

  const LuVerifyInput& in_;
  std::int64_t ld_;
  std::vector<std::int64_t> rows_;  // row i of P A is row rows_[i] of A
  double norm_ = 0;
};

}  // namespace

LuVerifyResult verify_lu(const LuVerifyInput& in) {
  LuVerifyResult result;
  const double column_flops = (is_complex(in.dtype) ? 8.0 : 2.0) * double(in.m) * double(in.n);
  const auto most = std::int64_t(std::clamp(in.flop_limit / std::max(column_flops, 1.0), 1.0, 1e9));
  const auto columns = places(in.n, std::min(in.n, most));
  const auto right_sides = places(in.nrhs, std::min(in.nrhs, most));
  const auto count = std::int64_t(columns.size());
  result.scope = count == in.n ? "all columns" : fmt::format("{} of {} columns", count, in.n);
  dispatch(in.dtype, [&]<class T>() {
    const Residuals<T> residuals(in);
    result.ratio = residuals.of_factors(columns);
    if (in.nrhs > 0) result.solve_ratio = residuals.of_solution(right_sides);
  });
  return result;
}

}  // namespace tilewright
