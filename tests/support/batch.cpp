// Lays out the operands of a case, fills them, and compares the result of a run with the oracle. No library
// code that computes products takes part.
#include "support/batch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <random>

namespace tilewright::testing {
namespace {

using Random = std::mt19937_64;

template <class R>
R draw_real(Random& random, Data data) {
  const std::uint64_t bits = random();
  if (data == Data::exact) return R(static_cast<int>(bits % 9) - 4) / R(4);
  return R(static_cast<double>(bits >> 11) * 0x1p-52 - 1.0);
}

template <class T>
T draw(Random& random, Data data) {
  using Real = typename Widened<T>::Real;
  if constexpr (std::is_same_v<T, Real>) return draw_real<Real>(random, data);
  const Real re = draw_real<Real>(random, data);
  if constexpr (!std::is_same_v<T, Real>) return T(re, draw_real<Real>(random, data));
}

// Returns a value that is neither 0 nor 1; exact ones keep few bits so that the sums stay exact.
template <class T>
T draw_scalar(Random& random, Data data) {
  using Real = typename Widened<T>::Real;
  constexpr std::array<double, 5> few{2, -1, 0.5, -3, -0.25};
  const auto pick = [&] {
    return data == Data::exact ? Real(few[random() % few.size()])
                               : Real(1.25) + draw_real<Real>(random, data);
  };
  const Real re = pick();
  if constexpr (std::is_same_v<T, Real>)
    return re;
  else
    return T(re, pick());
}

std::int64_t slot_of(std::int64_t p, std::int64_t count) {
  return count % 7 != 0 ? (p * 7 + 3) % count : count - 1 - p;
}

template <class W>
std::string number(const W& value) {
  if constexpr (requires { value.imag(); })
    return fmt::format("({:.9g}, {:.9g})", value.real(), value.imag());
  else
    return fmt::format("{:.9g}", value);
}

}  // namespace

std::string to_string(const Case& c) {
  const auto source = [](ScalarSource s) {
    return s == ScalarSource::uniform       ? "uniform"
           : s == ScalarSource::per_problem ? "per_problem"
                                            : "mixed_zero";
  };
  return fmt::format("{} [{}; alpha {}, beta {}, {} data, guard page at the {}, seed {}]",
                     to_string(c.problem), describe(c.problem), source(c.alpha), source(c.beta),
                     c.data == Data::exact ? "exact" : "random", c.edge == Edge::begin ? "begin" : "end",
                     c.seed);
}

template <class T>
Operand<T>::Operand(const GemmProblem& problem, std::int64_t rows, std::int64_t cols, std::int64_t ld,
                    const std::array<std::int64_t, 3>& strides, Edge edge)
    : layout_(problem.layout),
      rows_(rows),
      cols_(cols),
      ld_(ld),
      block_(problem.layout == Layout::interleaved ? std::max<std::int64_t>(problem.batch_count, 1)
                                                   : problem.block),
      strides_(strides),
      counts_{problem.batch_count / (problem.outer_count * problem.outermost_count), problem.outer_count,
              problem.outermost_count},
      stored_count_(layout_ == Layout::strided && strides == std::array<std::int64_t, 3>{}
                        ? std::min<std::int64_t>(problem.batch_count, 1)
                        : problem.batch_count) {
  const auto bytes = static_cast<std::size_t>(extent()) * sizeof(T);
  const auto count = static_cast<std::size_t>(stored_count_);
  pages_ = GuardedPages(bytes, edge, layout_ == Layout::pointer ? std::max<std::size_t>(count, 1) : 1);
  if (layout_ != Layout::pointer) return;
  pointer_pages_ = GuardedPages(count * sizeof(T*), edge);
  for (std::int64_t p = 0; p < stored_count_; ++p)
    pointers()[p] = reinterpret_cast<T*>(pages_.data(static_cast<std::size_t>(slot_of(p, stored_count_))));
  pointer_pages_.protect(GuardedPages::Access::read);
}

template <class T>
std::int64_t Operand<T>::extent() const {
  if (rows_ == 0 || cols_ == 0 || stored_count_ == 0) return 0;
  const std::int64_t matrix = (cols_ - 1) * ld_ + rows_;
  if (interleaved()) return (slot_count() / block_ - 1) * block_ * ld_ * cols_ + matrix * block_;
  return layout_ == Layout::strided ? distance(stored_count_ - 1) + matrix : matrix;
}

template <class T>
std::int64_t Operand<T>::distance(std::int64_t p) const {
  std::int64_t sum = 0;
  for (std::size_t level = 0; level < counts_.size(); p /= counts_[level++])
    sum += p % counts_[level] * strides_[level];
  return sum;
}

template <class T>
T* Operand<T>::column(std::int64_t p, std::int64_t j) const {
  if (layout_ == Layout::pointer) return pointers()[p] + j * ld_;
  if (interleaved()) return base() + p / block_ * block_ * ld_ * cols_ + j * ld_ * block_ + p % block_;
  return base() + distance(p) + j * ld_;
}

template <class T>
Batch<T>::Batch(const Case& c)
    : case_(c),
      a_(c.problem, c.problem.a_rows(), c.problem.a_cols(), c.problem.lda,
         {c.problem.stride_a, c.problem.outer_a, c.problem.outermost_a}, c.edge),
      b_(c.problem, c.problem.b_rows(), c.problem.b_cols(), c.problem.ldb,
         {c.problem.stride_b, c.problem.outer_b, c.problem.outermost_b}, c.edge),
      c_(c.problem, c.problem.m, c.problem.n, c.problem.ldc,
         {c.problem.stride_c, c.problem.outer_c, c.problem.outermost_c}, c.edge) {
  fill_inputs();
  fill_c();
  expect();
  const bool unread = c.problem.alpha == Scalar::zero || c.problem.k == 0;
  for (const auto* operand : {&a_, &b_})
    operand->pages().protect(unread ? GuardedPages::Access::none : GuardedPages::Access::read);
}

template <class T>
void Batch<T>::fill_inputs() {
  const GemmProblem& q = case_.problem;
  Random random(case_.seed);
  const auto fill_scalars = [&](Scalar kind, ScalarSource source, GuardedPages& pages) {
    const std::int64_t count = source == ScalarSource::uniform ? 1 : q.batch_count;
    pages = GuardedPages(static_cast<std::size_t>(count) * sizeof(T), case_.edge);
    T* values = reinterpret_cast<T*>(pages.data());
    for (std::int64_t p = 0; p < count; ++p) {
      const std::uint64_t choice = source == ScalarSource::uniform ? 5 : random() % 6;
      values[p] = kind == Scalar::one                                 ? T(1)
                  : kind == Scalar::zero                              ? T(0)
                  : choice == 0                                       ? T(1)
                  : choice <= 2 && source == ScalarSource::mixed_zero ? T(0)
                                                                      : draw_scalar<T>(random, case_.data);
    }
    pages.protect(GuardedPages::Access::read);
    return values;
  };
  alpha_ = fill_scalars(q.alpha, case_.alpha, alpha_pages_);
  beta_ = fill_scalars(q.beta, case_.beta, beta_pages_);
  for (const auto* operand : {&a_, &b_})
    for (std::int64_t p = 0; p < operand->stored_count(); ++p) {
      const bool own = operand->stored_count() == q.batch_count;
      if (own && alpha(p) == T(0)) continue;  // the guard words remain: NaN that must not be read
      for (std::int64_t j = 0; j < operand->cols(); ++j)
        for (std::int64_t i = 0; i < operand->rows(); ++i) operand->at(p, i, j) = draw<T>(random, case_.data);
    }
}

template <class T>
void Batch<T>::fill_c() {
  Random random(case_.seed ^ 0x9e3779b97f4a7c15u);
  for (std::int64_t p = 0; p < c_.stored_count(); ++p) {
    if (beta(p) == T(0)) continue;  // as above
    for (std::int64_t j = 0; j < c_.cols(); ++j)
      for (std::int64_t i = 0; i < c_.rows(); ++i) c_.at(p, i, j) = draw<T>(random, case_.data);
  }
  const std::size_t bytes = c_.pages().pages_bytes();
  pristine_.resize(bytes * c_.pages().slot_count());
  for (std::size_t slot = 0; slot < c_.pages().slot_count(); ++slot)
    std::memcpy(pristine_.data() + slot * bytes, c_.pages().pages(slot), bytes);
}

template <class T>
void Batch<T>::expect() {
  const GemmProblem& q = case_.problem;
  expected_.reserve(static_cast<std::size_t>(q.batch_count * q.m * q.n));
  Gathered<T> a, b;
  for (std::int64_t p = 0; p < q.batch_count; ++p) {
    const bool read = alpha(p) != T(0);
    const auto reader = [p](const Operand<T>& x) {
      return
          [&x, p](std::int64_t i, std::int64_t j) { return x.at(std::min(p, x.stored_count() - 1), i, j); };
    };
    if (read) a = gather_a<T>(q.op_a, q.m, q.k, reader(a_));
    if (read) b = gather_b<T>(q.op_b, q.n, q.k, reader(b_));
    for (std::int64_t j = 0; j < q.n; ++j)
      for (std::int64_t i = 0; i < q.m; ++i)
        expected_.push_back(
            update(alpha(p), read ? dot(a, b, i, j, q.k) : Dot<T>{}, beta(p), c_.at(p, i, j), q.k));
  }
}

template <class T>
GemmSmallCpuArguments Batch<T>::kernel_args(const GemmSmallCpuKernel& kernel) const {
  const GemmProblem& q = case_.problem;
  const Operands from = operands();
  GemmSmallCpuArguments args;
  args.a = from.a;
  args.b = from.b;
  args.c = from.c;
  args.count = q.batch_count;
  const auto stride = [&](std::int64_t elements, std::int64_t ld, std::int64_t cols) {
    const bool interleaved = c_.interleaved();
    return static_cast<std::int64_t>(sizeof(T)) * (interleaved ? c_.row_step() * ld * cols : elements);
  };
  args.stride_a = stride(q.stride_a, q.lda, q.a_cols());
  args.stride_b = stride(q.stride_b, q.ldb, q.b_cols());
  args.stride_c = stride(q.stride_c, q.ldc, q.n);
  args.alpha = from.alpha;
  args.beta = from.beta;
  args.alpha_stride = from.alpha_stride * static_cast<std::int64_t>(sizeof(T));
  args.beta_stride = from.beta_stride * static_cast<std::int64_t>(sizeof(T));
  args.self = &kernel;
  return args;
}

template <class T>
Operands Batch<T>::operands() const {
  const bool pointer = case_.problem.layout == Layout::pointer;
  Operands o;
  o.a = pointer ? static_cast<const void*>(a_.pointers()) : a_.base();
  o.b = pointer ? static_cast<const void*>(b_.pointers()) : b_.base();
  o.c = pointer ? static_cast<void*>(c_.pointers()) : c_.base();
  o.alpha = alpha_;
  o.beta = beta_;
  o.alpha_stride = alphas() != nullptr ? 1 : 0;
  o.beta_stride = betas() != nullptr ? 1 : 0;
  return o;
}

template <class T>
void Batch<T>::reset() {
  const std::size_t bytes = c_.pages().pages_bytes();
  for (std::size_t slot = 0; slot < c_.pages().slot_count(); ++slot)
    std::memcpy(c_.pages().pages(slot), pristine_.data() + slot * bytes, bytes);
}

template <class T>
std::string Batch<T>::check() {
  const std::string values = check_values();
  const std::string untouched = check_untouched();
  if (values.empty() || untouched.empty()) return values + untouched;
  return values + "; " + untouched;
}

template <class T>
std::string Batch<T>::check_values() const {
  using WideReal = typename Widened<T>::WideReal;
  using Wide = typename Widened<T>::Wide;
  const GemmProblem& q = case_.problem;
  std::size_t at = 0, wrong_count = 0;
  WideReal worst = 0;
  std::string text;
  for (std::int64_t p = 0; p < q.batch_count; ++p)
    for (std::int64_t j = 0; j < q.n; ++j) {
      const T* column = c_.column(p, j);
      for (std::int64_t i = 0; i < q.m; ++i, ++at) {
        const Expected<T>& e = expected_[at];
        const T actual = column[i * c_.row_step()];
        if (case_.data == Data::exact ? actual == T(e.value) : std::abs(Wide(actual) - e.value) <= e.bound)
          continue;
        ++wrong_count;
        WideReal excess = std::abs(Wide(actual) - e.value) / (e.bound > 0 ? e.bound : WideReal(1));
        if (!(excess < std::numeric_limits<WideReal>::max())) excess = std::numeric_limits<WideReal>::max();
        if (excess <= worst) continue;
        worst = excess;
        text = fmt::format("worst element ({}, {}) of problem {}: expected {}, got {}, error / bound {:.3g}",
                           i, j, p, number(e.value), number(actual), excess);
      }
    }
  if (wrong_count == 0) return {};
  return fmt::format("{} of {} elements wrong; {}", wrong_count, at, text);
}

template <class T>
std::string Batch<T>::check_untouched() {
  const std::size_t bytes = c_.pages().pages_bytes();
  const auto restore = [&](T& element) {
    const auto* byte = reinterpret_cast<const std::byte*>(&element);
    std::ptrdiff_t slot = 0;
    if (c_.pages().slot_count() > 1)
      slot = (byte - c_.pages().pages(0)) / (c_.pages().pages(1) - c_.pages().pages(0));
    const std::byte* page = c_.pages().pages(static_cast<std::size_t>(slot));
    std::memcpy(static_cast<void*>(&element),
                pristine_.data() + static_cast<std::size_t>(slot) * bytes + (byte - page), sizeof(T));
  };
  for (std::int64_t p = 0; p < c_.slot_count(); ++p)
    for (std::int64_t j = 0; j < c_.cols(); ++j)
      for (std::int64_t i = 0; i < c_.rows(); ++i) restore(c_.at(p, i, j));
  for (std::size_t slot = 0; slot < c_.pages().slot_count(); ++slot) {
    const std::byte* now = c_.pages().pages(slot);
    const std::byte* then = pristine_.data() + slot * bytes;
    if (std::memcmp(now, then, bytes) == 0) continue;
    const auto at = std::mismatch(now, now + bytes, then).first - c_.pages().data(slot);
    reset();
    return fmt::format(
        "a byte that is no element of C was written: byte {} (element {}) from the start of C{}", at,
        at / static_cast<std::ptrdiff_t>(sizeof(T)),
        c_.pages().slot_count() > 1 ? fmt::format(" at slot {}", slot) : "");
  }
  return {};
}

template <class T>
std::vector<std::byte> Batch<T>::snapshot() const {
  std::vector<T> values;
  for (std::int64_t p = 0; p < c_.stored_count(); ++p)
    for (std::int64_t j = 0; j < c_.cols(); ++j)
      for (std::int64_t i = 0; i < c_.rows(); ++i) values.push_back(c_.at(p, i, j));
  std::vector<std::byte> bytes(values.size() * sizeof(T));
  if (!bytes.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

template <class T>
std::string Batch<T>::locate(const void* address) const {
  const std::pair<const char*, const GuardedPages*> known[] = {{"A", &a_.pages()},
                                                               {"B", &b_.pages()},
                                                               {"C", &c_.pages()},
                                                               {"the pointers of A", &a_.pointer_pages()},
                                                               {"the pointers of B", &b_.pointer_pages()},
                                                               {"the pointers of C", &c_.pointer_pages()},
                                                               {"alpha", &alpha_pages_},
                                                               {"beta", &beta_pages_}};
  for (const auto& [name, pages] : known) {
    std::ptrdiff_t offset = 0;
    if (pages->locate(address, &offset)) return fmt::format("{} bytes from the start of {}", offset, name);
  }
  return {};
}

template class Operand<float>;
template class Operand<double>;
template class Operand<std::complex<float>>;
template class Operand<std::complex<double>>;
template class Batch<float>;
template class Batch<double>;
template class Batch<std::complex<float>>;
template class Batch<std::complex<double>>;

}  // namespace tilewright::testing
