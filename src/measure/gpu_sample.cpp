// Rows and columns, the sums of their crossings, comparison.
#include "measure/gpu_sample.hpp"

#include <algorithm>
#include <set>
#include <vector>

#include "core/dispatch.hpp"
#include "measure/typed_values.hpp"

namespace tilewright {

struct GpuSample::State {
  virtual ~State() = default;
  virtual Accuracy check(const std::function<void()>& run) const = 0;
};

namespace {

constexpr int spread = 7;  // rows and columns besides the first, the last and those beside common tile edges

std::vector<std::int64_t> places(std::int64_t size) {
  std::set<std::int64_t> chosen;
  for (const std::int64_t at : {std::int64_t(0), std::int64_t(127), std::int64_t(128), size / 2, size - 1})
    chosen.insert(std::clamp<std::int64_t>(at, 0, size - 1));
  std::mt19937 random(3);
  for (int i = 0; i < spread; ++i)
    chosen.insert(static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(size)));
  return {chosen.begin(), chosen.end()};
}

template <class T>
struct TypedState : GpuSample::State {
  // One column of one matrix of C, of which the elements of some rows are known.
  struct Column {
    std::int64_t first = 0;          // element of C
    std::vector<T> before;           // all of it, as fill() wrote it
    std::vector<T> wanted;           // of the rows
    std::vector<double> magnitudes;  // what the bound is made of
  };

  TypedState(const GpuArena& arena, const GemmProblem& problem, T alpha, T beta)
      : arena_(arena), p_(problem), rows_(places(problem.m)) {
    const std::set<std::int64_t> matrices = {0, problem.batch_count - 1};
    for (const std::int64_t q : matrices)
      for (const std::int64_t j : places(problem.n))
        columns_.push_back({q * problem.stride_c + j * problem.ldc, {}, {}, {}});
    const auto per_matrix = static_cast<std::int64_t>(columns_.size() / matrices.size());
#pragma omp parallel for schedule(dynamic)
    for (std::int64_t x = 0; x < static_cast<std::int64_t>(columns_.size()); ++x)
      expect(columns_[std::size_t(x)], x < per_matrix ? 0 : problem.batch_count - 1, alpha, beta);
  }

  Accuracy check(const std::function<void()>& run) const override {
    const T nan = nan_value<T>();
    for (const Column& column : columns_)
      write(column, p_.beta == Scalar::zero ? std::vector<T>(column.before.size(), nan) : column.before);
    arena_.gpu().synchronize();
    run();
    arena_.gpu().synchronize();
    Accuracy worst{0, 1};
    std::vector<T> got(static_cast<std::size_t>(p_.m));
    for (const Column& column : columns_) {
      arena_.gpu().read(got.data(), address(column), got.size() * sizeof(T));
      for (std::size_t r = 0; r < rows_.size(); ++r)
        worst.error = std::max(worst.error, share_of_bound(got[std::size_t(rows_[r])], column.wanted[r],
                                                           column.magnitudes[r], double(p_.k)));
      write(column, column.before);
    }
    return worst;
  }

 private:
  T value(int operand, std::int64_t element) const {
    if constexpr (is_pair<T>)
      return value_from<T>(arena_.real_at(operand, 2 * element), arena_.real_at(operand, 2 * element + 1));
    else
      return value_from<T>(arena_.real_at(operand, element), 0);
  }
  void* address(const Column& column) const {
    return static_cast<char*>(arena_.c()) + column.first * std::int64_t(sizeof(T));
  }
  void write(const Column& column, const std::vector<T>& values) const {
    arena_.gpu().write(address(column), values.data(), values.size() * sizeof(T));
  }

  // C(i, j) = alpha sum_l op(A)(i, l) op(B)(l, j) + beta C(i, j) for the chosen rows i.
  void expect(Column& column, std::int64_t q, T alpha, T beta) const {
    const std::int64_t j = (column.first - q * p_.stride_c) / p_.ldc;
    for (std::int64_t i = 0; i < p_.m; ++i) column.before.push_back(value(2, column.first + i));
    for (const std::int64_t i : rows_) {
      T sum{};
      double size = 0;
      for (std::int64_t l = 0; l < p_.k; ++l) {
        const T x = conjugated(
            value(0, q * p_.stride_a + (p_.op_a == Op::none ? l * p_.lda + i : i * p_.lda + l)), p_.op_a);
        const T y = conjugated(
            value(1, q * p_.stride_b + (p_.op_b == Op::none ? j * p_.ldb + l : l * p_.ldb + j)), p_.op_b);
        sum += x * y;
        size += std::abs(x) * std::abs(y);
      }
      const T old = column.before[std::size_t(i)];
      const bool reads_c = p_.beta != Scalar::zero;
      column.wanted.push_back(reads_c ? alpha * sum + beta * old : alpha * sum);
      column.magnitudes.push_back(std::abs(alpha) * size + (reads_c ? std::abs(beta * old) : 0));
    }
  }

  const GpuArena& arena_;
  GemmProblem p_;
  std::vector<std::int64_t> rows_;
  std::vector<Column> columns_;
};

}  // namespace

GpuSample::GpuSample(const GpuArena& arena, const GemmProblem& problem, std::complex<double> alpha,
                     std::complex<double> beta)
    : state_(dispatch(problem.dtype, [&]<class T>() -> std::unique_ptr<State> {
        return std::make_unique<TypedState<T>>(arena, problem, value_from<T>(alpha), value_from<T>(beta));
      })) {}
GpuSample::~GpuSample() = default;

Accuracy GpuSample::check(const std::function<void()>& run) const { return state_->check(run); }

}  // namespace tilewright
