// Chooses elements, computes their exact values and compares.
#include "measure/check_sampled.hpp"

#include <omp.h>

#include <cstring>
#include <numeric>
#include <set>

#include "core/dispatch.hpp"
#include "measure/typed_values.hpp"

namespace tilewright {
namespace {

// Limits on multiply-adds: of a problem checked whole, of all such problems, of all samples.
constexpr double most_whole = 1 << 20, whole_products = 1e6, most_products = 2e8;
constexpr std::int64_t fewest_problems = 4;
// Bounds on the numbers of sampled rows and columns of a large matrix.
constexpr std::int64_t fewest_places = 12, most_places = 48;
constexpr double most_column_elements = double(1 << 24);  // columns of C are kept whole
constexpr std::int64_t most_rows_together = 64;           // that a thread gathers for all columns

std::int64_t place_count(double most) {
  return static_cast<std::int64_t>(std::clamp(most, double(fewest_places), double(most_places)));
}

// Spreads the samples, with neighbours at both ends: kernels differ at odd counts and at the last problem.
std::vector<std::int64_t> spread(std::int64_t batch_count, std::int64_t wanted) {
  std::set<std::int64_t> chosen;
  const std::int64_t last = batch_count - 1;
  for (std::int64_t i = 0; i < wanted; ++i) chosen.insert(last * i / std::max<std::int64_t>(1, wanted - 1));
  for (const std::int64_t q : {std::int64_t{1}, last - 1})
    if (wanted > 1 && q >= 0 && q <= last) chosen.insert(q);
  return {chosen.begin(), chosen.end()};
}

class HostOperands : public CheckedOperands {
 public:
  HostOperands(DType dtype, const HostArray& a, const HostArray& b, const HostArray& c_before,
               const HostArray& c)
      : dtype_(dtype), before_{a, b, c_before}, c_(c) {}

  void before(const Stretch& s, void* to) const override { copy_out(before_[s.operand], s, to); }
  void read(const Stretch& s, void* to) const override { copy_out(c_, s, to); }
  void write(const Stretch& s, const void* from) const override {
    each(c_, s, [&]<class T>(T& element, std::int64_t e) { element = static_cast<const T*>(from)[e]; });
  }

 private:
  void copy_out(const HostArray& x, const Stretch& s, void* to) const {
    each(x, s, [&]<class T>(const T& element, std::int64_t e) { static_cast<T*>(to)[e] = element; });
  }
  template <class F>
  void each(const HostArray& x, const Stretch& s, F&& f) const {
    dispatch(dtype_, [&]<class T>() {
      T* const base =
          x.by_pointer ? static_cast<T* const*>(x.data)[s.q] : static_cast<T*>(const_cast<void*>(x.data));
      T* const begin = base + x.stored.at(x.by_pointer ? 0 : s.q, s.i, s.j);
      const std::int64_t step = s.across ? x.stored.column_step : x.stored.row_step;
      for (std::int64_t e = 0; e < s.count; ++e) f(begin[e * step], e);
    });
  }

  DType dtype_;
  HostArray before_[3], c_;
};

std::complex<double> as_double(long double value) { return double(value); }
std::complex<double> as_double(std::complex<long double> value) {
  return {double(value.real()), double(value.imag())};
}

// Computes the exact values of the sampled elements.
template <class T>
class Product {
 public:
  Product(const GemmProblem& problem, const CheckedOperands& at, const Sample& chosen,
          std::complex<double> alpha, std::complex<double> beta)
      : p(problem),
        operands(at),
        sample(chosen),
        alpha_(value_from<T>(alpha)),
        beta_(value_from<T>(beta)),
        k_(alpha_ == T(0) ? 0 : problem.k) {}

  // Calls sink(problem, column, first row, exact elements from it) on any thread; indices into the sample.
  template <class F>
  void for_each(int threads, F&& sink) const {
    const std::int64_t each = std::ssize(sample.rows) * std::ssize(sample.problems) / threads;
    const std::int64_t together = std::clamp<std::int64_t>(each, 1, most_rows_together);
    const std::int64_t pieces = (std::ssize(sample.rows) + together - 1) / together;
#pragma omp parallel for schedule(dynamic) num_threads(threads)
    for (std::int64_t item = 0; item < std::ssize(sample.problems) * pieces; ++item) {
      const std::int64_t x = item / pieces, first = item % pieces * together;
      const std::int64_t q = sample.problems[std::size_t(x)];
      const std::int64_t count = std::min(together, std::ssize(sample.rows) - first);
      Strips<T> rows(k_, count), column(k_, 1);
      std::vector<T> stretch(static_cast<std::size_t>(std::max(k_, span(first, count))));
      for (std::int64_t r = 0; r < count; ++r)
        gather({0, q, row(first + r), 0, k_, true}, p.op_a, stretch, rows, r);
      std::vector<Exact<T>> exact(static_cast<std::size_t>(count));
      for (std::int64_t y = 0; y < std::ssize(sample.columns); ++y) {
        const std::int64_t j = sample.columns[std::size_t(y)];
        gather({1, q, 0, j, k_, false}, p.op_b, stretch, column, 0);
        if (beta_ != T(0)) operands.before({2, q, row(first), j, span(first, count)}, stretch.data());
        for (std::int64_t r = 0; r < count; ++r)
          exact[std::size_t(r)] = exact_element(alpha_, rows, r, column, 0, beta_,
                                                stretch[std::size_t(row(first + r) - row(first))]);
        sink(x, y, first, exact);
      }
    }
  }

  std::int64_t row(std::int64_t place) const { return sample.rows[std::size_t(place)]; }
  // Returns the length in elements from the first to the last of some sampled rows, unsampled rows included.
  std::int64_t span(std::int64_t first, std::int64_t count) const {
    return row(first + count - 1) - row(first) + 1;
  }
  // Adds the element to the tally and records its position if it is the worst so far.
  void compare(std::int64_t x, std::int64_t y, std::int64_t r, T got, const Exact<T>& exact,
               ErrorTally& tally) const {
    if (!tally.add(deviation(got, exact, k_))) return;
    tally.worst.problem_index = sample.problems[std::size_t(x)];
    tally.worst.row = row(r), tally.worst.column = sample.columns[std::size_t(y)];
    tally.worst.got = got, tally.worst.exact = as_double(exact.value);
  }

  const GemmProblem p;
  const CheckedOperands& operands;
  const Sample sample;

 private:
  // Reads a row or column of k elements of op(X), with the position given in op(X).
  void gather(Stretch s, Op op, std::vector<T>& stretch, Strips<T>& to, std::int64_t strip) const {
    if (op != Op::none) std::swap(s.i, s.j), s.across = !s.across;
    operands.before(s, stretch.data());
    for (std::int64_t l = 0; l < k_; ++l) to.set(strip, l, conjugated(stretch[std::size_t(l)], op));
  }

  T alpha_, beta_;
  std::int64_t k_;
};

}  // namespace

struct SampledCheck::State {
  explicit State(std::unique_ptr<CheckedOperands> at) : operands(std::move(at)) {}
  virtual ~State() = default;
  // Restores C, with NaN in place of elements that beta = 0 forbids reading if `poisons`.
  virtual void write(bool poisons) const = 0;
  virtual Accuracy compare() const = 0;
  std::unique_ptr<CheckedOperands> operands;
};

namespace {

template <class T>
class TypedCheck : public SampledCheck::State {
 public:
  TypedCheck(const GemmProblem& problem, std::unique_ptr<CheckedOperands> at, const Sample& sample,
             std::complex<double> alpha, std::complex<double> beta)
      : State(std::move(at)), product_(problem, *operands, sample, alpha, beta), rows_(sample.rows.size()) {
    for_each_column([&](std::size_t, const Stretch& column) {
      before_.emplace_back(static_cast<std::size_t>(column.count));
      operands->before(column, before_.back().data());
    });
    exact_.resize(before_.size() * rows_);
    const double work = double(exact_.size()) * double(problem.k);
    product_.for_each(work > 1e6 ? omp_get_max_threads() : 1, [&](std::int64_t x, std::int64_t y,
                                                                  std::int64_t first, const auto& exact) {
      const std::int64_t column = x * std::ssize(sample.columns) + y;
      std::copy(exact.begin(), exact.end(), exact_.begin() + column * std::ssize(sample.rows) + first);
    });
  }

  void write(bool poisons) const override {
    for_each_column([&](std::size_t index, const Stretch& column) {
      std::vector<T> values = before_[index];
      if (poisons && product_.p.beta == Scalar::zero)
        std::fill_n(values.begin(), product_.p.m, nan_value<T>());
      operands->write(column, values.data());
    });
  }

  Accuracy compare() const override {
    ErrorTally tally;
    std::vector<T> now;
    for_each_column([&](std::size_t index, const Stretch& column) {
      const std::vector<T>& before = before_[index];
      now.resize(before.size());
      operands->read(column, now.data());
      const auto gap = std::size_t(product_.p.m);
      if (std::memcmp(now.data() + gap, before.data() + gap, (now.size() - gap) * sizeof(T)) != 0)
        tally.worst.gaps_intact = false;
      const auto columns = std::ssize(product_.sample.columns);
      for (std::size_t r = 0; r < rows_; ++r)
        product_.compare(std::int64_t(index) / columns, std::int64_t(index) % columns, std::int64_t(r),
                         now[std::size_t(product_.row(std::int64_t(r)))], exact_[index * rows_ + r], tally);
    });
    return tally.accuracy();
  }

 private:
  // Calls f for the sampled columns of C, each with the gap below it; the gap below the last column is not
  // checked, since the memory may belong to others.
  template <class F>
  void for_each_column(F&& f) const {
    const GemmProblem& p = product_.p;
    std::size_t index = 0;
    for (const std::int64_t q : product_.sample.problems)
      for (const std::int64_t j : product_.sample.columns)
        f(index++, Stretch{2, q, 0, j, j + 1 < p.n ? p.ldc : p.m});
  }

  Product<T> product_;
  std::size_t rows_;
  std::vector<std::vector<T>> before_;
  std::vector<Exact<T>> exact_;
};

std::unique_ptr<CheckedOperands> host_operands(const GemmProblem& p, const Operands& o) {
  const bool by_pointer = p.layout == Layout::pointer;
  const HostArray c{stored_operand(p, 2), o.c, by_pointer};
  return host_operands(p.dtype, {stored_operand(p, 0), o.a, by_pointer},
                       {stored_operand(p, 1), o.b, by_pointer}, c, c);
}

}  // namespace

std::unique_ptr<CheckedOperands> host_operands(DType dtype, const HostArray& a, const HostArray& b,
                                               const HostArray& c_before, const HostArray& c) {
  return std::make_unique<HostOperands>(dtype, a, b, c_before, c);
}

std::vector<std::int64_t> places(std::int64_t size, std::int64_t count) {
  std::vector<std::int64_t> chosen;
  if (size <= std::max<std::int64_t>(count, 2)) {
    chosen.resize(static_cast<std::size_t>(size));
    std::iota(chosen.begin(), chosen.end(), 0);
    return chosen;
  }
  chosen = {0, size - 1};
  if (count >= fewest_places && size > 129) chosen.insert(chosen.end(), {127, 128});
  // Draw one element from each of equal parts of the range between the ends.
  std::mt19937_64 random(3);
  for (std::int64_t i = 0; i < count - 2; ++i) {
    const std::int64_t begin = 1 + (size - 2) * i / (count - 2), end = 1 + (size - 2) * (i + 1) / (count - 2);
    chosen.push_back(begin + std::int64_t(random() % std::uint64_t(end - begin)));
  }
  std::sort(chosen.begin(), chosen.end());
  chosen.erase(std::unique(chosen.begin(), chosen.end()), chosen.end());
  return chosen;
}

Sample sample_of(const GemmProblem& p, std::int64_t most_problems) {
  const double each = std::max(1.0, double(p.m) * double(p.n) * double(p.k));
  if (each <= most_whole) {
    const auto wanted = std::max<std::int64_t>(std::int64_t(whole_products / each), fewest_problems);
    return {spread(p.batch_count, std::min(wanted, most_problems)), places(p.m, p.m), places(p.n, p.n)};
  }
  const std::set<std::int64_t> ends = {0, p.batch_count - 1};
  const auto count = double(ends.size());
  const std::int64_t side = place_count(std::sqrt(most_products / (double(p.k) * count)));
  const std::int64_t columns = place_count(most_column_elements / (double(p.m) * count));
  return {{ends.begin(), ends.end()}, places(p.m, side), places(p.n, std::min(side, columns))};
}

SampledCheck::SampledCheck(const GemmProblem& problem, std::unique_ptr<CheckedOperands> operands,
                           const Sample& sample, std::complex<double> alpha, std::complex<double> beta)
    : state_(dispatch(problem.dtype, [&]<class T>() -> std::unique_ptr<const State> {
        return std::make_unique<const TypedCheck<T>>(problem, std::move(operands), sample, alpha, beta);
      })) {}
SampledCheck::SampledCheck(const GemmProblem& problem, const Operands& operands, std::complex<double> alpha,
                           std::complex<double> beta)
    : SampledCheck(problem, host_operands(problem, operands), sample_of(problem), alpha, beta) {}
SampledCheck::~SampledCheck() = default;
SampledCheck::SampledCheck(SampledCheck&&) noexcept = default;

Accuracy SampledCheck::check(const std::function<void()>& run) const {
  state_->write(true);
  state_->operands->synchronize();
  try {
    run();
  } catch (...) {
    state_->write(false);
    throw;
  }
  state_->operands->synchronize();
  const Accuracy accuracy = state_->compare();
  state_->write(false);
  return accuracy;
}

Accuracy check_once(const GemmProblem& problem, const CheckedOperands& operands, const Sample& sample,
                    std::complex<double> alpha, std::complex<double> beta, int threads) {
  return dispatch(problem.dtype, [&]<class T>() {
    const Product<T> product(problem, operands, sample, alpha, beta);
    std::vector<ErrorTally> tallies(static_cast<std::size_t>(threads));
    product.for_each(threads, [&](std::int64_t x, std::int64_t y, std::int64_t first, const auto& exact) {
      std::vector<T> got(static_cast<std::size_t>(product.span(first, std::ssize(exact))));
      operands.read({2, sample.problems[std::size_t(x)], product.row(first), sample.columns[std::size_t(y)],
                     std::ssize(got)},
                    got.data());
      ErrorTally& tally = tallies[std::size_t(omp_get_thread_num())];
      for (std::int64_t r = 0; r < std::ssize(exact); ++r)
        product.compare(x, y, first + r, got[std::size_t(product.row(first + r) - product.row(first))],
                        exact[std::size_t(r)], tally);
    });
    for (std::size_t t = 1; t < tallies.size(); ++t) tallies[0].add(tallies[t]);
    return tallies[0].accuracy();
  });
}

}  // namespace tilewright
