// The host side of the check: operands, plain loops, comparison.
#include "tune/gpu/check.hpp"

#include <algorithm>
#include <cstring>
#include <optional>
#include <vector>

#include "core/dispatch.hpp"
#include "measure/gpu/pointers.hpp"
#include "measure/typed_values.hpp"

namespace tilewright {

struct GpuCheck::State {
  virtual ~State() = default;
  virtual GpuCheckResult check(const std::function<void(const Operands&)>& run) const = 0;
  GemmProblem problem;
};

namespace {

constexpr std::int64_t guard_count =
    256;  // elements before and behind an operand: whole multiples of 256 bytes

// One operand of the batch with its surroundings. Slots that the last block of an interleaved batch leaves
// unused hold numbers, which kernels may rewrite.
template <class T>
struct Surrounded {
  std::vector<T> values;  // guards, gaps and shift are NaN
  std::int64_t first = 0, ld = 0, block = 1, step = 0, stored = 0;

  Surrounded(const GemmProblem& p, std::int64_t rows, std::int64_t columns, std::int64_t leading,
             std::int64_t stride, int shift, std::mt19937& random)
      : first(guard_count + shift), ld(leading), step(stride), stored(p.batch_count) {
    if (is_interleaved(p.layout)) {
      block = p.block, step = p.block * ld * columns;
      stored = (p.batch_count + block - 1) / block * block;
    } else if (p.layout == Layout::pointer) {
      step = gpu_pointer_distance(ld * columns, sizeof(T));
    }
    values.assign(std::size_t((stored / block - 1) * step + ld * columns * block + 2 * guard_count),
                  nan_value<T>());
    for (std::int64_t q = 0; q < stored; ++q)
      for (std::int64_t j = 0; j < columns; ++j)
        for (std::int64_t i = 0; i < rows; ++i) at(q, i, j) = random_value<T>(random);
  }
  T& at(std::int64_t q, std::int64_t i, std::int64_t j) {
    return values[std::size_t(first + q / block * step + (j * ld + i) * block + q % block)];
  }
  const T& at(std::int64_t q, std::int64_t i, std::int64_t j) const {
    return const_cast<Surrounded*>(this)->at(q, i, j);
  }
};

template <class T>
struct CheckedState : GpuCheck::State {
  using Wide = typename WideOf<T>::type;

  CheckedState(const Gpu& gpu, const GemmProblem& p, int shift, std::mt19937& random)
      : gpu_(gpu),
        a_(p, p.a_rows(), p.a_cols(), p.lda, p.stride_a, shift, random),
        b_(p, p.b_rows(), p.b_cols(), p.ldb, p.stride_b, shift, random),
        c_(p, p.m, p.n, p.ldc, p.stride_c, shift, random) {
    problem = p;
    const auto scalar = [&](Scalar kind) {
      return kind == Scalar::one ? T(1) : kind == Scalar::zero ? T(0) : random_value<T>(random);
    };
    alpha_ = scalar(p.alpha), beta_ = scalar(p.beta);
    if (p.beta == Scalar::zero) std::fill(c_.values.begin(), c_.values.end(), nan_value<T>());
    wanted_.resize(std::size_t(p.batch_count * p.n * p.m));
    sizes_.resize(wanted_.size());
#pragma omp parallel for schedule(dynamic)
    for (std::int64_t x = 0; x < p.batch_count * p.n; ++x) expect_column(x / p.n, x % p.n);
  }

  GpuCheckResult check(const std::function<void(const Operands&)>& run) const override {
    const GpuBuffer a = upload(a_.values), b = upload(b_.values), c = upload(c_.values);
    const std::size_t skip = std::size_t(c_.first) * sizeof(T);
    Operands o;
    o.a = a.as<void>(skip), o.b = b.as<void>(skip), o.c = c.as<void>(skip);
    std::optional<GpuPointers> pointers;
    if (problem.layout == Layout::pointer) {
      pointers.emplace(
          gpu_, problem, 1, [o](std::int64_t) { return o; }, pointer_order(problem.batch_count, true));
      o = pointers->at(0);
    }
    o.alpha = &alpha_, o.beta = &beta_;
    gpu_.synchronize();
    run(o);
    gpu_.synchronize();
    Surrounded<T> out = c_;
    c.read(out.values.data(), c.bytes());
    return compare(out);
  }

 private:
  GpuBuffer upload(const std::vector<T>& values) const {
    GpuBuffer buffer(gpu_, values.size() * sizeof(T));
    buffer.write(values.data(), buffer.bytes());
    return buffer;
  }

  // C = alpha op(A) op(B) + beta C of one column, in the wider type.
  void expect_column(std::int64_t q, std::int64_t j) {
    const GemmProblem& p = problem;
    Wide* const wanted = &wanted_[std::size_t((q * p.n + j) * p.m)];
    double* const sizes = &sizes_[std::size_t((q * p.n + j) * p.m)];
    for (std::int64_t l = 0; l < p.k; ++l) {
      const T y = conjugated(p.op_b == Op::none ? b_.at(q, l, j) : b_.at(q, j, l), p.op_b);
      for (std::int64_t i = 0; i < p.m; ++i) {
        const T x = conjugated(p.op_a == Op::none ? a_.at(q, i, l) : a_.at(q, l, i), p.op_a);
        wanted[i] = multiply_add(as_wide(x), as_wide(y), wanted[i]);
        sizes[i] += std::abs(x) * std::abs(y);
      }
    }
    for (std::int64_t i = 0; i < p.m; ++i) {
      wanted[i] *= as_wide(alpha_);
      sizes[i] *= std::abs(alpha_);
      if (p.beta == Scalar::zero) continue;
      wanted[i] += as_wide(beta_) * as_wide(c_.at(q, i, j));
      sizes[i] += std::abs(beta_ * c_.at(q, i, j));
    }
  }

  // Leaves in `out` what surrounds C.
  GpuCheckResult compare(Surrounded<T>& out) const {
    const GemmProblem& p = problem;
    GpuCheckResult result;
    for (std::int64_t q = 0; q < p.batch_count; ++q)
      for (std::int64_t j = 0; j < p.n; ++j)
        for (std::int64_t i = 0; i < p.m; ++i) {
          const auto at = std::size_t((q * p.n + j) * p.m + i);
          const double share = share_of_bound(out.at(q, i, j), wanted_[at], sizes_[at], double(p.k));
          result.error = std::max(result.error, share);
          if (share > 1 && result.fault.empty())
            result.fault = fmt::format("at {}: problem {} of {}, element ({}, {}) is wrong", to_string(p), q,
                                       p.batch_count, i, j);
          out.at(q, i, j) = c_.at(q, i, j);
        }
    for (std::int64_t q = p.batch_count; q < out.stored; ++q)
      for (std::int64_t j = 0; j < p.n; ++j)
        for (std::int64_t i = 0; i < p.m; ++i) out.at(q, i, j) = c_.at(q, i, j);
    if (std::memcmp(out.values.data(), c_.values.data(), out.values.size() * sizeof(T)) != 0)
      result.fault = fmt::format("at {}: something outside C was written", to_string(p));
    return result;
  }

  const Gpu& gpu_;
  Surrounded<T> a_, b_, c_;
  T alpha_{}, beta_{};
  std::vector<Wide> wanted_;
  std::vector<double> sizes_;
};

}  // namespace

GpuCheck::GpuCheck(const Gpu& gpu, const GemmProblem& problem, int shift, unsigned seed) {
  std::mt19937 random(seed);
  state_ = dispatch(problem.dtype, [&]<class T>() -> std::unique_ptr<const State> {
    return std::make_unique<const CheckedState<T>>(gpu, problem, shift, random);
  });
}
GpuCheck::~GpuCheck() = default;

const GemmProblem& GpuCheck::problem() const { return state_->problem; }

GpuCheckResult GpuCheck::check(const std::function<void(const Operands&)>& run) const {
  return state_->check(run);
}

}  // namespace tilewright
