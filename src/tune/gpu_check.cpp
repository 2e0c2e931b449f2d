// The host side of the check: operands, plain loops, comparison.
#include "tune/gpu_check.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "core/dispatch.hpp"

namespace tilewright {
namespace {

constexpr std::size_t guard_bytes = 256;
constexpr unsigned char guard_value = 0xA5;

template <class T>
struct RealOf {
  using type = T;
};
template <class R>
struct RealOf<std::complex<R>> {
  using type = R;
};

template <class T>
T random_value(std::mt19937& random) {
  std::uniform_real_distribution<double> uniform(-0.5, 0.5);
  if constexpr (is_complex(dtype_of<T>)) {
    const double re = uniform(random);
    return T(static_cast<typename T::value_type>(re), static_cast<typename T::value_type>(uniform(random)));
  } else {
    return static_cast<T>(uniform(random));
  }
}

template <class T>
std::vector<T> random_values(std::size_t count, std::mt19937& random) {
  std::vector<T> values(count);
  for (T& value : values) value = random_value<T>(random);
  return values;
}

// op(X)(i, j) of one matrix.
template <class T>
T element(const T* x, Op op, std::int64_t ld, std::int64_t i, std::int64_t j) {
  T value = op == Op::none ? x[j * ld + i] : x[i * ld + j];
  if constexpr (is_complex(dtype_of<T>))
    if (op == Op::conj_trans) value = std::conj(value);
  return value;
}

template <class T>
struct Batch {
  std::vector<T> a, b, c;
  T alpha, beta;
};

// Largest |result - reference| over its bound (k + 4) eps (sum |a b| |alpha| + |beta c|), per element.
template <class T>
double compare(const GemmProblem& p, std::int64_t count, const Batch<T>& in, const std::vector<T>& out,
               std::string& fault) {
  const double unit = std::numeric_limits<typename RealOf<T>::type>::epsilon();
  double worst = 0;
  for (std::int64_t q = 0; q < count; ++q)
    for (std::int64_t j = 0; j < p.n; ++j)
      for (std::int64_t i = 0; i < p.m; ++i) {
        T sum{};
        double size = 0;
        for (std::int64_t l = 0; l < p.k; ++l) {
          const T x = element(in.a.data() + q * p.stride_a, p.op_a, p.lda, i, l);
          const T y = element(in.b.data() + q * p.stride_b, p.op_b, p.ldb, l, j);
          sum += x * y;
          size += std::abs(x) * std::abs(y);
        }
        const std::size_t at = static_cast<std::size_t>(q * p.stride_c + j * p.ldc + i);
        T wanted = in.alpha * sum;
        size *= std::abs(in.alpha);
        if (p.beta != Scalar::zero) {
          wanted += in.beta * in.c[at];
          size += std::abs(in.beta) * std::abs(in.c[at]);
        }
        const double share = std::abs(out[at] - wanted) / ((double(p.k) + 4) * unit * size + 1e-300);
        if (!(share <= worst)) worst = std::isnan(share) ? 1e30 : share;
        if (!(share <= 1) && fault.empty())
          fault = fmt::format("problem {} of {}, element ({}, {}) is wrong", q, count, i, j);
      }
  return worst;
}

}  // namespace

GpuCheck::GpuCheck(const Gpu& gpu, const GemmProblem& problem) : gpu_(gpu), problem_(problem) {}

GpuCheckResult GpuCheck::check(const GemmSmallKernel& kernel) {
  return dispatch(problem_.dtype, [&]<class T>() { return check_typed<T>(kernel); });
}

template <class T>
GpuCheckResult GpuCheck::check_typed(const GemmSmallKernel& kernel) {
  constexpr unsigned blocks = 3;
  const GemmProblem& p = problem_;
  const auto& c = kernel.config();
  // Several turns of the ring per block, and a last tile that is not full where tiles hold several problems.
  const std::int64_t count = std::int64_t(c.matrices_per_block) * (blocks * (c.stages + 2)) -
                             (c.matrices_per_block > 1 ? c.matrices_per_block / 2 : 0) -
                             (c.matrices_per_block > 2 ? 1 : 0);
  std::mt19937 random(12345);
  Batch<T> in{
      random_values<T>(static_cast<std::size_t>((count - 1) * p.stride_a + p.lda * p.a_cols()), random),
      random_values<T>(static_cast<std::size_t>((count - 1) * p.stride_b + p.ldb * p.b_cols()), random),
      random_values<T>(static_cast<std::size_t>((count - 1) * p.stride_c + p.ldc * p.n), random),
      p.alpha == Scalar::one ? T(1) : random_value<T>(random),
      p.beta == Scalar::one    ? T(1)
      : p.beta == Scalar::zero ? T(0)
                               : random_value<T>(random)};
  if (p.beta == Scalar::zero)
    std::fill(in.c.begin(), in.c.end(), T(std::numeric_limits<typename RealOf<T>::type>::quiet_NaN()));
  const std::size_t c_bytes = in.c.size() * sizeof(T);
  GpuBuffer a(gpu_, in.a.size() * sizeof(T)), b(gpu_, in.b.size() * sizeof(T)),
      buffer(gpu_, c_bytes + 2 * guard_bytes);
  a.write(in.a.data(), a.bytes());
  b.write(in.b.data(), b.bytes());
  const std::vector<unsigned char> guard(guard_bytes, guard_value);
  buffer.write(guard.data(), guard_bytes);
  buffer.write(in.c.data(), c_bytes, guard_bytes);
  buffer.write(guard.data(), guard_bytes, guard_bytes + c_bytes);
  kernel.launch({a.as<void>(), b.as<void>(), buffer.as<void>(guard_bytes), &in.alpha, &in.beta, count,
                 p.stride_a, p.stride_b, p.stride_c, p.lda, p.ldb, p.ldc},
                nullptr, blocks);
  gpu_.synchronize();
  std::vector<T> out(in.c.size());
  std::vector<unsigned char> before(guard_bytes), after(guard_bytes);
  buffer.read(before.data(), guard_bytes);
  buffer.read(out.data(), c_bytes, guard_bytes);
  buffer.read(after.data(), guard_bytes, guard_bytes + c_bytes);
  GpuCheckResult result;
  result.error = compare(p, count, in, out, result.fault);
  if (before != guard || after != guard) result.fault = "bytes outside C were written";
  for (std::int64_t q = 0; q + 1 < count && result.fault.empty();
       ++q)  // between columns and between matrices
    for (std::int64_t e = 0; e < p.stride_c; ++e) {
      const auto at = static_cast<std::size_t>(q * p.stride_c + e);
      const bool inside = e / p.ldc < p.n && e % p.ldc < p.m;
      if (!inside && std::memcmp(&out[at], &in.c[at], sizeof(T)) != 0)
        result.fault = "padding of C was written";
    }
  return result;
}

}  // namespace tilewright
