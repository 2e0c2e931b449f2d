// Rows and columns, the sums of their crossings in a wider type, comparison.
#include "measure/gpu/sample.hpp"

#include <algorithm>
#include <cmath>
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

// Rows, and columns, of a matrix: as many as the work allows.
constexpr std::int64_t fewest_places = 12, most_places = 48;
constexpr double most_products = 2e8;                     // multiply-adds of all elements: a second or less
constexpr double most_column_elements = double(1 << 24);  // columns of C are kept whole

// `count` positions or all there are: the first, the last, those beside common tile edges, others at random.
std::vector<std::int64_t> places(std::int64_t size, std::int64_t count) {
  std::set<std::int64_t> chosen;
  for (const std::int64_t at : {std::int64_t(0), std::int64_t(127), std::int64_t(128), size / 2, size - 1})
    chosen.insert(std::clamp<std::int64_t>(at, 0, size - 1));
  std::mt19937 random(3);
  while (std::ssize(chosen) < std::min(size, count))
    chosen.insert(static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(size)));
  return {chosen.begin(), chosen.end()};
}

std::int64_t place_count(double most) {
  return static_cast<std::int64_t>(std::clamp(most, double(fewest_places), double(most_places)));
}

template <class T>
struct TypedState : GpuSample::State {
  using Wide = typename WideOf<T>::type;

  // Where matrices of one operand lie: their distance, and from one element of a column to the next.
  struct Place {
    std::int64_t block, step, spacing;
    std::int64_t of(std::int64_t q, std::int64_t element) const {
      return q / block * step + q % block + element * spacing;
    }
  };
  static Place place_of(const GemmProblem& p, std::int64_t elements, std::int64_t stride) {
    if (is_interleaved(p.layout)) return {p.block, elements * p.block, p.block};
    if (p.layout == Layout::pointer) stride = gpu_pointer_distance(elements, sizeof(T));
    return {1, stride, 1};
  }

  // One column of one matrix of C, of which the elements of some rows are known.
  struct Column {
    std::int64_t first = 0;          // element of C
    std::int64_t j = 0;              // of its matrix
    std::vector<T> before;           // all of it, as fill() wrote it
    std::vector<Wide> wanted;        // of the rows
    std::vector<double> magnitudes;  // what the bound is made of
  };
  // Rows or columns of an operand, one behind the other, with the absolute values of their elements.
  struct Strips {
    explicit Strips(std::size_t count) : values(count), sizes(count) {}
    void set(std::size_t at, T value) { values[at] = value, sizes[at] = double(std::abs(value)); }
    std::vector<T> values;
    std::vector<double> sizes;
  };

  TypedState(const GpuArena& arena, const GemmProblem& problem, T alpha, T beta)
      : arena_(arena),
        p_(problem),
        a_(place_of(problem, problem.lda * problem.a_cols(), problem.stride_a)),
        b_(place_of(problem, problem.ldb * problem.b_cols(), problem.stride_b)),
        c_(place_of(problem, problem.ldc * problem.n, problem.stride_c)),
        alpha_(alpha),
        beta_(beta) {
    const std::set<std::int64_t> matrices = {0, problem.batch_count - 1};
    const double work = std::max(1.0, double(problem.k)) * double(matrices.size());
    const std::int64_t side = place_count(std::sqrt(most_products / work));
    const double whole = double(problem.m) * double(matrices.size());
    rows_ = places(problem.m, side);
    const auto columns = places(problem.n, std::min(side, place_count(most_column_elements / whole)));
    for (const std::int64_t q : matrices) {
      const std::size_t begin = columns_.size();
      for (const std::int64_t j : columns) columns_.push_back({c_.of(q, j * problem.ldc), j, {}, {}, {}});
      const Strips rows = rows_of_a(q);
#pragma omp parallel for schedule(dynamic)
      for (std::size_t x = begin; x < columns_.size(); ++x) expect(columns_[x], q, rows);
    }
  }

  Accuracy check(const std::function<void()>& run) const override {
    const T nan = nan_value<T>();
    for (const Column& column : columns_)
      write(column, p_.beta == Scalar::zero ? std::vector<T>(column.before.size(), nan) : column.before);
    arena_.gpu().synchronize();
    run();
    arena_.gpu().synchronize();
    Accuracy worst{0, 1};
    double squares = 0;
    std::vector<T> got(static_cast<std::size_t>(p_.m));
    for (const Column& column : columns_) {
      move(column, got.data(),
           [&](T* host, void* device, std::size_t bytes) { arena_.gpu().read(host, device, bytes); });
      for (std::size_t r = 0; r < rows_.size(); ++r) {
        const double share =
            share_of_bound(got[std::size_t(rows_[r])], column.wanted[r], column.magnitudes[r], double(p_.k));
        worst.error = std::max(worst.error, share);
        squares += share * share;
      }
      write(column, column.before);
    }
    worst.rms = std::sqrt(squares / double(rows_.size() * columns_.size()));
    return worst;
  }

 private:
  T value(int operand, std::int64_t element) const {
    if constexpr (is_pair<T>)
      return value_from<T>(arena_.real_at(operand, 2 * element), arena_.real_at(operand, 2 * element + 1));
    else
      return value_from<T>(arena_.real_at(operand, element), 0);
  }
  // Calls copy(host, device, bytes) for the column, or for each of its elements where they lie apart.
  template <class H, class Copy>
  void move(const Column& column, H* host, Copy&& copy) const {
    T* const device = static_cast<T*>(arena_.c()) + column.first;
    if (c_.spacing == 1) return copy(host, device, std::size_t(p_.m) * sizeof(T));
    for (std::int64_t i = 0; i < p_.m; ++i) copy(host + i, device + i * c_.spacing, sizeof(T));
  }
  void write(const Column& column, const std::vector<T>& values) const {
    move(column, values.data(),
         [&](const T* host, void* device, std::size_t bytes) { arena_.gpu().write(device, host, bytes); });
  }

  // The chosen rows of op(A) of matrix q, one behind the other.
  Strips rows_of_a(std::int64_t q) const {
    Strips rows(rows_.size() * std::size_t(p_.k));
#pragma omp parallel for schedule(dynamic)
    for (std::size_t r = 0; r < rows_.size(); ++r)
      for (std::int64_t l = 0; l < p_.k; ++l) {
        const std::int64_t in = p_.op_a == Op::none ? l * p_.lda + rows_[r] : rows_[r] * p_.lda + l;
        rows.set(r * std::size_t(p_.k) + std::size_t(l), conjugated(value(0, a_.of(q, in)), p_.op_a));
      }
    return rows;
  }
  Strips column_of_b(std::int64_t q, std::int64_t j) const {
    Strips column(std::size_t(p_.k));
    for (std::int64_t l = 0; l < p_.k; ++l) {
      const std::int64_t in = p_.op_b == Op::none ? j * p_.ldb + l : l * p_.ldb + j;
      column.set(std::size_t(l), conjugated(value(1, b_.of(q, in)), p_.op_b));
    }
    return column;
  }

  // C(i, j) = alpha sum_l op(A)(i, l) op(B)(l, j) + beta C(i, j) for the chosen rows i, in the wider type.
  void expect(Column& column, std::int64_t q, const Strips& rows) const {
    const Strips y = column_of_b(q, column.j);
    const std::size_t k = y.values.size();
    for (std::int64_t i = 0; i < p_.m; ++i) column.before.push_back(value(2, column.first + i * c_.spacing));
    for (std::size_t r = 0; r < rows_.size(); ++r) {
      const T* const x = rows.values.data() + r * k;
      const double* const x_size = rows.sizes.data() + r * k;
      Wide sum{};
      double size = 0;
      for (std::size_t l = 0; l < k; ++l) {
        sum = multiply_add(as_wide(x[l]), as_wide(y.values[l]), sum);
        size += x_size[l] * y.sizes[l];
      }
      Wide wanted = as_wide(alpha_) * sum;
      double magnitude = std::abs(alpha_) * size;
      if (p_.beta != Scalar::zero) {
        const T old = column.before[std::size_t(rows_[r])];
        wanted += as_wide(beta_) * as_wide(old);
        magnitude += double(std::abs(beta_)) * double(std::abs(old));
      }
      column.wanted.push_back(wanted);
      column.magnitudes.push_back(magnitude);
    }
  }

  const GpuArena& arena_;
  GemmProblem p_;
  Place a_, b_, c_;
  T alpha_, beta_;
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
