// Gathers problems from the arrays, multiplies them with gemm/reference, and holds every element of C against
// a bound from norms: |c - r| <= 2 (k + 4) eps (|alpha| |A_i| |B_j| + |beta| |c0|), with A_i a row of op(A)
// and B_j a column of op(B). Each of c and r is within half of that of the exact value (Higham 2002,
// section 3.5, with Cauchy-Schwarz).
#include "gemm_verify.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>

#include "core/dispatch.hpp"
#include "gemm/run/reference.hpp"

namespace tilewright::cli {

namespace {

constexpr std::int64_t fewest_problems_a_thread = 16;
constexpr unsigned sample_seed = 20240229;

template <class T>
struct Parts {
  using Real = T;
  static T from(std::complex<double> value) { return static_cast<T>(value.real()); }
  static T conjugate(T value) { return value; }
  static bool finite(T value) { return std::isfinite(value); }
  static std::string text(T value) { return fmt::format("{}", value); }
};
template <class R>
struct Parts<std::complex<R>> {
  using Real = R;
  using T = std::complex<R>;
  static T from(std::complex<double> value) { return T(value); }
  static T conjugate(T value) { return std::conj(value); }
  static bool finite(T value) { return std::isfinite(value.real()) && std::isfinite(value.imag()); }
  static std::string text(T value) { return fmt::format("{}{:+}j", value.real(), value.imag()); }
};

// What is checked: these columns of these problems.
struct Scope {
  std::vector<std::int64_t> problems;
  std::vector<std::int64_t> columns;
  std::string text;
};

// `count` of 0 ... total - 1 in ascending order, the first and the last among them.
std::vector<std::int64_t> choose(std::int64_t total, std::int64_t count) {
  std::vector<std::int64_t> chosen;
  if (count >= total) {
    chosen.resize(static_cast<std::size_t>(total));
    std::iota(chosen.begin(), chosen.end(), std::int64_t{0});
    return chosen;
  }
  std::mt19937_64 random(sample_seed);
  std::uniform_int_distribution<std::int64_t> any(0, total - 1);
  chosen = {0, total - 1};
  while (static_cast<std::int64_t>(chosen.size()) < count) chosen.push_back(any(random));
  std::sort(chosen.begin(), chosen.end());
  chosen.erase(std::unique(chosen.begin(), chosen.end()), chosen.end());
  return chosen;
}

Scope choose_scope(const VerifyInput& in, std::int64_t k) {
  const double column_flops =
      (is_complex(in.dtype) ? 8.0 : 2.0) * double(in.c_shape.rows) * double(std::max<std::int64_t>(k, 1));
  const double problem_flops = column_flops * double(in.c_shape.cols);
  const std::int64_t batch = in.c_shape.batch, n = in.c_shape.cols;
  Scope scope;
  const double problem_count = std::max(1.0, std::floor(in.flop_limit / std::max(problem_flops, 1.0)));
  scope.problems = choose(batch, problem_count >= double(batch) ? batch : std::int64_t(problem_count));
  const double share = in.flop_limit / double(std::max<std::size_t>(scope.problems.size(), 1));
  const double column_count = std::max(1.0, std::floor(share / column_flops));
  scope.columns = choose(n, column_count >= double(n) ? n : std::int64_t(column_count));
  const auto chosen = static_cast<std::int64_t>(scope.problems.size());
  scope.text = chosen == batch ? (batch == 1 ? "the whole product" : fmt::format("all {} problems", batch))
                               : fmt::format("a random {} of {} problems", chosen, batch);
  if (const auto columns = static_cast<std::int64_t>(scope.columns.size()); columns < n)
    scope.text =
        fmt::format("a random {} of {} columns of {}", columns, n, batch == 1 ? "the product" : scope.text);
  return scope;
}

template <class T>
class Verifier {
 public:
  using Real = typename Parts<T>::Real;

  Verifier(const VerifyInput& input, const Scope& scope) : in_(input), scope_(scope) {
    m_ = in_.c_shape.rows;
    k_ = in_.op_a == Op::none ? in_.a_shape.cols : in_.a_shape.rows;
    alpha_ = Parts<T>::from(in_.alpha);
    beta_ = Parts<T>::from(in_.beta);
    const auto columns = static_cast<std::int64_t>(scope_.columns.size());
    a_.resize(static_cast<std::size_t>(k_ * m_));
    b_.resize(static_cast<std::size_t>(k_ * columns));
    r_.resize(static_cast<std::size_t>(m_ * columns));
    problem_.dtype = in_.dtype;
    problem_.op_a = Op::trans;  // op(A) is gathered by rows, so that the reference walks it in order
    problem_.m = m_;
    problem_.n = columns;
    problem_.k = k_;
    problem_.alpha = problem_.beta = Scalar::general;
    if (in_.c0 == nullptr) problem_.beta = Scalar::zero;
    problem_ = packed(problem_);
  }

  void check(std::int64_t index) {
    gather(index);
    Operands operands;
    operands.a = a_.data();
    operands.b = b_.data();
    operands.c = r_.data();
    operands.alpha = &alpha_;
    operands.beta = &beta_;
    std::vector<double> magnitude = c0_magnitudes();
    gemm_reference(problem_, operands);
    compare(index, magnitude);
  }

  const VerifyResult& result() const { return result_; }
  double worst() const { return worst_; }

 private:
  // The elements of op(X) of one problem, or of X itself.
  struct View {
    const T* data = nullptr;
    std::int64_t row_step = 0;
    std::int64_t column_step = 0;
    bool conjugate = false;

    T operator()(std::int64_t i, std::int64_t j) const {
      const T value = data[i * row_step + j * column_step];
      return conjugate ? Parts<T>::conjugate(value) : value;
    }
  };
  static View view(const void* data, const ArrayShape& shape, std::int64_t p, Op op = Op::none) {
    const auto s = shape.strides();
    View v{static_cast<const T*>(data) + (shape.batch == 1 ? 0 : p * s[0]), s[1], s[2], op == Op::conj_trans};
    if (op != Op::none) std::swap(v.row_step, v.column_step);
    return v;
  }

  void gather(std::int64_t p) {
    const View a = view(in_.a, in_.a_shape, p, in_.op_a), b = view(in_.b, in_.b_shape, p, in_.op_b);
    for (std::int64_t i = 0; i < m_; ++i)
      for (std::int64_t l = 0; l < k_; ++l) a_[i * k_ + l] = a(i, l);
    for (std::int64_t j = 0; j < problem_.n; ++j)
      for (std::int64_t l = 0; l < k_; ++l) b_[j * k_ + l] = b(l, scope_.columns[j]);
    if (in_.c0 == nullptr) return;
    const View c0 = view(in_.c0, in_.c0_shape, p);
    for (std::int64_t j = 0; j < problem_.n; ++j)
      for (std::int64_t i = 0; i < m_; ++i) r_[j * m_ + i] = c0(i, scope_.columns[j]);
  }

  std::vector<double> c0_magnitudes() const {
    std::vector<double> magnitude(r_.size(), 0.0);
    if (in_.c0 == nullptr) return magnitude;
    for (std::size_t e = 0; e < r_.size(); ++e) magnitude[e] = std::abs(std::complex<double>(beta_ * r_[e]));
    return magnitude;
  }

  // Euclidean norms of `count` consecutive vectors of length k.
  std::vector<double> norms(const std::vector<T>& vectors, std::int64_t count) const {
    std::vector<double> norm(static_cast<std::size_t>(count), 0.0);
    for (std::int64_t v = 0; v < count; ++v) {
      for (std::int64_t l = 0; l < k_; ++l) norm[v] += std::norm(std::complex<double>(vectors[v * k_ + l]));
      norm[v] = std::sqrt(norm[v]);
    }
    return norm;
  }

  void compare(std::int64_t p, const std::vector<double>& magnitude) {
    const double rounding = 2.0 * double(k_ + 4) * double(std::numeric_limits<Real>::epsilon()) *
                            (is_complex(in_.dtype) ? 2.0 : 1.0);  // a complex product rounds twice
    const auto row_norm = norms(a_, m_);
    const auto column_norm = norms(b_, problem_.n);
    const double alpha = std::abs(std::complex<double>(alpha_));
    const View c = view(in_.c, in_.c_shape, p);
    for (std::int64_t j = 0; j < problem_.n; ++j)
      for (std::int64_t i = 0; i < m_; ++i) {
        const T reference = r_[j * m_ + i];
        const T value = c(i, scope_.columns[j]);
        const double product = alpha == 0 ? 0 : alpha * row_norm[i] * column_norm[j];
        const double bound =
            rounding * (product + magnitude[j * m_ + i]) + double(std::numeric_limits<Real>::min());
        double error = std::abs(std::complex<double>(value) - std::complex<double>(reference));
        if (!Parts<T>::finite(reference)) error = Parts<T>::finite(value) ? bound * 2 : 0;
        note(p, i, scope_.columns[j], value, reference, error, bound);
      }
  }

  void note(std::int64_t p, std::int64_t i, std::int64_t j, T value, T reference, double error,
            double bound) {
    const bool bad = !(error <= bound) && std::isfinite(bound);
    const double ratio = bad && !(error / bound < 1e300) ? 1e300 : error / bound;
    if (bad) result_.passed = false;
    if (!(ratio > worst_)) return;
    worst_ = ratio;
    result_.error = error;
    result_.error_bound = bound;
    const std::string position =
        in_.c_shape.is_batch ? fmt::format("{}, {}, {}", p, i, j) : fmt::format("{}, {}", i, j);
    result_.where =
        fmt::format("C[{}] = {}, reference {}", position, Parts<T>::text(value), Parts<T>::text(reference));
  }

  const VerifyInput& in_;
  const Scope& scope_;
  std::int64_t m_ = 0;
  std::int64_t k_ = 0;
  T alpha_{};
  T beta_{};
  GemmProblem problem_;
  std::vector<T> a_, b_, r_;
  VerifyResult result_;
  double worst_ = -1;
};

template <class T>
VerifyResult verify_all(const VerifyInput& input, const Scope& scope) {
  VerifyResult result;
  double worst = -1;
  const auto problems = static_cast<std::int64_t>(scope.problems.size());
  const int threads =
      static_cast<int>(std::clamp<std::int64_t>(problems / fewest_problems_a_thread, 1, input.threads));
#pragma omp parallel num_threads(threads)
  {
    Verifier<T> verifier(input, scope);
#pragma omp for schedule(dynamic, 64)
    for (std::size_t index = 0; index < scope.problems.size(); ++index) verifier.check(scope.problems[index]);
#pragma omp critical
    {
      const bool passed = result.passed && verifier.result().passed;
      if (verifier.worst() > worst) {
        worst = verifier.worst();
        result = verifier.result();
      }
      result.passed = passed;
    }
  }
  return result;
}

}  // namespace

VerifyResult verify(const VerifyInput& input) {
  const Scope scope = choose_scope(input, input.op_a == Op::none ? input.a_shape.cols : input.a_shape.rows);
  VerifyResult result = dispatch(input.dtype, [&]<class T>() { return verify_all<T>(input, scope); });
  result.scope = scope.text;
  return result;
}

}  // namespace tilewright::cli
