// The reference in extended precision with its bound, and comparison with it. Slow and simple on purpose: one
// triple loop over addresses computed from the layout's definition.
#include "measure/accuracy.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <vector>

#include "core/dispatch.hpp"
#include "measure/operands.hpp"

namespace tilewright {
namespace {

constexpr double reference_work = 2e5;  // multiply-adds for all chosen problems: a few milliseconds
constexpr std::int64_t most_problems = 64;

using Wide = std::complex<long double>;

struct Shape {
  std::int64_t ld = 0;
  std::int64_t columns = 0;
  std::int64_t stride = 0;
};

// Address of element (i, j) of problem p, by the definition of each layout.
template <class T>
T* element(const GemmProblem& problem, const void* operand, const Shape& shape, std::int64_t p,
           std::int64_t i, std::int64_t j) {
  const std::int64_t offset = element_offset(problem, shape.ld, shape.columns, p, i, j);
  auto* base = static_cast<char*>(const_cast<void*>(operand));
  if (problem.layout == Layout::pointer) base = static_cast<char* const*>(operand)[p];
  if (problem.layout == Layout::strided) base += p * shape.stride * size_bytes(problem.dtype);
  return reinterpret_cast<T*>(base + offset);
}

template <class T>
Wide wide(T value) {
  return {value, 0};
}
template <class T>
Wide wide(std::complex<T> value) {
  return {value.real(), value.imag()};
}

std::vector<std::int64_t> choose(const GemmProblem& problem) {
  const double work = std::max(1.0, double(problem.m) * double(problem.n) * double(problem.k));
  const auto wanted =
      std::clamp<std::int64_t>(std::int64_t(reference_work / work), work > 1e6 ? 1 : 4, most_problems);
  std::set<std::int64_t> chosen;
  const std::int64_t last = problem.batch_count - 1;
  // Evenly spread, and neighbours at both ends: odd counts and the last problem are where kernels differ.
  for (std::int64_t i = 0; i < wanted; ++i) chosen.insert(last * i / std::max<std::int64_t>(1, wanted - 1));
  if (wanted > 1)
    for (const std::int64_t p : {std::int64_t{1}, last - 1})
      if (p >= 0 && p <= last) chosen.insert(p);
  return {chosen.begin(), chosen.end()};
}

}  // namespace

struct AccuracyCheck::Impl {
  virtual ~Impl() = default;
  virtual void write(bool poison) const = 0;
  virtual Accuracy compare() const = 0;
};

namespace {

template <class T>
class Check final : public AccuracyCheck::Impl {
 public:
  Check(const GemmProblem& problem, const Operands& operands, std::complex<double> alpha,
        std::complex<double> beta)
      : problem_(problem),
        operands_(operands),
        alpha_(wide(alpha)),
        beta_(wide(beta)),
        chosen_(choose(problem)) {
    shape_a_ = {problem.lda, problem.a_cols(), problem.stride_a};
    shape_b_ = {problem.ldb, problem.b_cols(), problem.stride_b};
    shape_c_ = {problem.ldc, problem.n, problem.stride_c};
    for (const std::int64_t p : chosen_) {
      for_each_of_c([&](std::int64_t i, std::int64_t j) { before_.push_back(*at_c(p, i, j)); });
      for (std::int64_t j = 0; j < problem.n; ++j)
        for (std::int64_t i = 0; i < problem.m; ++i) add_expected(p, i, j);
    }
  }

  void write(bool poison) const override {
    constexpr auto nan = std::numeric_limits<double>::quiet_NaN();
    std::size_t index = 0;
    for (const std::int64_t p : chosen_)
      for_each_of_c([&](std::int64_t i, std::int64_t j) {
        const bool inside = i < problem_.m;
        *at_c(p, i, j) = poison && inside ? T(nan) : before_[index];
        ++index;
      });
  }

  Accuracy compare() const override {
    Accuracy worst;
    double worst_share = -1, squares = 0;
    std::size_t expected = 0;
    std::size_t index = 0;
    for (const std::int64_t p : chosen_)
      for_each_of_c([&](std::int64_t i, std::int64_t j) {
        const T got = *at_c(p, i, j);
        const T old = before_[index++];
        if (i >= problem_.m) {
          worst.gaps_intact = worst.gaps_intact && got == old;
          return;
        }
        const double error = double(std::abs(wide(got) - exact_[expected]));
        const double bound = bound_[expected++];
        double share = error / std::max(bound, std::numeric_limits<double>::min());
        if (std::isnan(error)) share = std::numeric_limits<double>::infinity();
        squares += share * share;
        if (share <= worst_share) return;
        worst_share = share;
        worst.error = error;
        worst.bound = bound;
        worst.problem_index = p;
      });
    worst.rms = expected == 0 ? 0 : std::sqrt(squares / double(expected));
    return worst;
  }

 private:
  T* at_c(std::int64_t p, std::int64_t i, std::int64_t j) const {
    return element<T>(problem_, operands_.c, shape_c_, p, i, j);
  }

  // Column by column, the gap below each column included; the gap after the last column belongs to nobody.
  template <class F>
  void for_each_of_c(F&& f) const {
    for (std::int64_t j = 0; j < problem_.n; ++j)
      for (std::int64_t i = 0; i < (j + 1 < problem_.n ? problem_.ldc : problem_.m); ++i) f(i, j);
  }

  Wide operand(Op op, const void* data, const Shape& shape, std::int64_t p, std::int64_t i,
               std::int64_t j) const {
    if (op == Op::none) return wide(*element<T>(problem_, data, shape, p, i, j));
    const Wide value = wide(*element<T>(problem_, data, shape, p, j, i));
    return op == Op::conj_trans ? std::conj(value) : value;
  }

  // exact = alpha sum_l A(i,l) B(l,j) + beta C(i,j); bound = (k + 4) eps (|alpha| sum |A| |B| + |beta C|).
  void add_expected(std::int64_t p, std::int64_t i, std::int64_t j) {
    Wide sum = 0;
    long double size = 0;
    for (std::int64_t l = 0; l < problem_.k; ++l) {
      const Wide a = operand(problem_.op_a, operands_.a, shape_a_, p, i, l);
      const Wide b = operand(problem_.op_b, operands_.b, shape_b_, p, l, j);
      sum += a * b;
      size += std::abs(a) * std::abs(b);
    }
    Wide exact = alpha_ * sum;
    size *= std::abs(alpha_);
    if (problem_.beta != Scalar::zero) {
      const Wide old = wide(*at_c(p, i, j));
      exact += beta_ * old;
      size += std::abs(beta_) * std::abs(old);
    }
    using Real = decltype(std::abs(T{}));
    const double eps = double(std::numeric_limits<Real>::epsilon()) * (is_complex(problem_.dtype) ? 2 : 1);
    exact_.push_back(exact);
    bound_.push_back(double(problem_.k + 4) * eps * double(size) + double(std::numeric_limits<Real>::min()));
  }

  GemmProblem problem_;
  Operands operands_;
  Wide alpha_, beta_;
  std::vector<std::int64_t> chosen_;
  Shape shape_a_, shape_b_, shape_c_;
  std::vector<T> before_;
  std::vector<Wide> exact_;
  std::vector<double> bound_;
};

}  // namespace

double error_ratio(const Accuracy& ours, const Accuracy& peer) {
  if (peer.rms > 0) return ours.rms / peer.rms;
  return ours.rms > 0 ? std::numeric_limits<double>::infinity() : 1;
}

AccuracyCheck::AccuracyCheck(const GemmProblem& problem, const Operands& operands, std::complex<double> alpha,
                             std::complex<double> beta)
    : impl_(dispatch(problem.dtype,
                     [&]<class T>() -> std::unique_ptr<Impl> {
                       return std::make_unique<Check<T>>(problem, operands, alpha, beta);
                     })),
      reads_c_(problem.beta != Scalar::zero) {}
AccuracyCheck::~AccuracyCheck() = default;
AccuracyCheck::AccuracyCheck(AccuracyCheck&&) noexcept = default;

void AccuracyCheck::restore() const { impl_->write(!reads_c_); }
Accuracy AccuracyCheck::compare() const { return impl_->compare(); }
void AccuracyCheck::finish() const { impl_->write(false); }

}  // namespace tilewright
