// Computes the residuals b_j - A x_j of a batch of systems, column by column.
#include "measure/system_residual.hpp"

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

// One problem of the batch.
template <class T>
class SystemResidual {
  using Wider = typename WideOf<T>::type;
  using Matrices = SystemVerifyInput::Matrices;

 public:
  SystemResidual(const SystemVerifyInput& in, std::int64_t problem) : in_(in), problem_(problem) {
    for (std::int64_t j = 0; j < in.n; ++j) {
      double sum = 0;
      for (std::int64_t i = 0; i < in.n; ++i) sum += double(std::abs(a(i, j)));
      if (!(sum <= norm_)) norm_ = sum;
    }
  }

  double worst() const {
    double worst = 0;
    for (std::int64_t j = 0; j < in_.nrhs && !std::isnan(worst); ++j)
      if (const double ratio = of_column(j); !(ratio <= worst)) worst = ratio;
    return worst;
  }

 private:
  static T element(const Matrices& x, std::int64_t p, std::int64_t i, std::int64_t j) {
    return static_cast<const T*>(x.data)[p * x.strides[0] + i * x.strides[1] + j * x.strides[2]];
  }
  Wider a(std::int64_t i, std::int64_t j) const {
    const bool mirrors = in_.is_hermitian && (in_.uplo == Uplo::lower ? i < j : i > j);
    const Wider value(mirrors ? element(in_.a, problem_, j, i) : element(in_.a, problem_, i, j));
    if constexpr (is_pair<T>) {
      if (mirrors) return std::conj(value);
      if (in_.is_hermitian && i == j) return value.real();
    }
    return value;
  }
  // Infinite or NaN if the solution is no number.
  double of_column(std::int64_t j) const {
    constexpr auto epsilon = double(std::numeric_limits<decltype(std::abs(T()))>::epsilon());
    double residual = 0, size = 0;
    for (std::int64_t i = 0; i < in_.n; ++i) {
      Wider sum = -Wider(element(in_.b, problem_, i, j));
      for (std::int64_t l = 0; l < in_.n; ++l) sum += a(i, l) * Wider(element(in_.x, problem_, l, j));
      residual += double(std::abs(sum));
      size += double(std::abs(element(in_.x, problem_, i, j)));
    }
    if (!std::isfinite(norm_ * size)) return std::numeric_limits<double>::quiet_NaN();
    return residual == 0 ? 0 : residual / (norm_ * size * epsilon);
  }

  const SystemVerifyInput& in_;
  std::int64_t problem_;
  double norm_ = 0;
};

}  // namespace

SystemVerifyResult verify_systems(const SystemVerifyInput& in) {
  const double flops = (is_complex(in.dtype) ? 8.0 : 2.0) * double(in.n) * double(in.n) * double(in.nrhs);
  const auto most = std::int64_t(std::clamp(in.flop_limit / std::max(flops, 1.0), 1.0, 1e9));
  const std::vector<std::int64_t> problems = places(in.count, std::min(in.count, most));
  const auto checked = std::int64_t(problems.size());
  std::vector<double> ratios(problems.size());
  dispatch(in.dtype, [&]<class T>() {
    run_each(in.threads, checked, [&](std::int64_t at) {
      const std::int64_t p = problems[std::size_t(at)];
      if (!in.infos.empty() && in.infos[std::size_t(p)] != 0) return;
      ratios[std::size_t(at)] = SystemResidual<T>(in, p).worst();
    });
  });
  SystemVerifyResult result;
  result.scope = checked == in.count ? "all problems" : fmt::format("{} of {} problems", checked, in.count);
  for (std::size_t at = 0; at < ratios.size() && !std::isnan(result.ratio); ++at)
    if (result.problem < 0 || !(ratios[at] <= result.ratio))
      result.ratio = ratios[at], result.problem = problems[at];
  return result;
}

}  // namespace tilewright
