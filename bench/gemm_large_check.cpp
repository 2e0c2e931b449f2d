// The host side of the checks: operands, plain loops, comparison.
#include "gemm_large_check.hpp"

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstring>
#include <limits>
#include <thread>

#include "core/dispatch.hpp"

namespace tilewright::bench {
namespace {

template <class T>
struct RealOf {
  using type = T;
};
template <class R>
struct RealOf<std::complex<R>> {
  using type = R;
};
template <class T>
constexpr bool is_pair = sizeof(T) > sizeof(typename RealOf<T>::type);

template <class T>
T nan_value() {
  return T(std::numeric_limits<typename RealOf<T>::type>::quiet_NaN());
}
template <class T>
T random_value(std::mt19937& random) {
  using R = typename RealOf<T>::type;
  std::uniform_real_distribution<double> uniform(-0.5, 0.5);
  if constexpr (is_pair<T>) {
    const R re = static_cast<R>(uniform(random));
    return T(re, static_cast<R>(uniform(random)));
  } else {
    return static_cast<T>(uniform(random));
  }
}
template <class T>
T op_value(T value, Op op) {
  if constexpr (is_pair<T>)
    if (op == Op::conj_trans) return std::conj(value);
  return value;
}

template <class T>
struct Matrix {
  std::vector<T> values;  // guards, padding and shift included
  std::int64_t first = 0, ld = 0;

  Matrix(std::int64_t rows, std::int64_t columns, std::int64_t leading, int offset, std::mt19937& random)
      : values(static_cast<std::size_t>(leading * columns + 512), nan_value<T>()),
        first(256 + offset),
        ld(leading) {
    for (std::int64_t j = 0; j < columns; ++j)
      for (std::int64_t i = 0; i < rows; ++i) at(i, j) = random_value<T>(random);
  }
  T& at(std::int64_t i, std::int64_t j) { return values[static_cast<std::size_t>(first + j * ld + i)]; }
};

}  // namespace

LargeSmall any_large(DType dtype, int most, std::mt19937& random) {
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  const auto size = [&] { return 1 + (below(3) == 0 ? below(40) : below(most)); };
  LargeSmall one;
  GemmProblem& p = one.problem;
  p.dtype = dtype;
  p.m = size();
  p.n = size();
  p.k = below(20) == 0 ? 0 : size();
  p.op_a = static_cast<Op>(below(3));
  p.op_b = static_cast<Op>(below(3));
  p.alpha = below(2) == 0 ? Scalar::one : Scalar::general;
  p.beta = static_cast<Scalar>(below(3));
  p.location = Location::device;
  const int kind = below(3);  // aligned, padded at random, shifted
  const int step = std::max(1, 16 / static_cast<int>(size_bytes(dtype)));
  const auto leading = [&](std::int64_t rows) {
    const std::int64_t least = std::max<std::int64_t>(rows, 1);
    return kind == 0 ? (least + step - 1) / step * step + step * below(3) : least + below(6);
  };
  p.lda = leading(p.a_rows());
  p.ldb = leading(p.b_rows());
  p.ldc = leading(p.m);
  one.offset = kind == 2 ? 1 + below(3) : 0;
  return one;
}

LargeSmall edge_case(const GemmProblem& like, const GemmLargeShape& shape, const GemmLargeConfig& c) {
  LargeSmall one;
  GemmProblem& p = one.problem;
  p = like;
  p.m = c.tile_m + c.tile_m / 2 + 3;
  p.n = c.tile_n + c.tile_n / 2 + 5;
  p.k = (c.stages + 2) * c.tile_k * std::max(1, c.split_k / 2) + c.tile_k / 2 + 1;
  if (c.boundary == GemmLargeBoundary::none && c.load != GemmLargeLoad::tensor) {
    p.m = 2 * c.tile_m;
    p.n = 2 * c.tile_n;
    p.k = (c.stages + 2) * c.tile_k * std::max(1, c.split_k / 2);
  }
  const int bytes = static_cast<int>(size_bytes(p.dtype));
  const auto leading = [&](std::int64_t rows, int align) {
    const std::int64_t step = std::max(1, align / bytes);
    return (rows + step - 1) / step * step + step;
  };
  p.lda = leading(p.a_rows(), shape.align_a);
  p.ldb = leading(p.b_rows(), shape.align_b);
  p.ldc = leading(p.m, shape.align_c);
  return one;
}

GemmLargeShape shape_of(const LargeSmall& one) {
  // cuMemAlloc gives multiples of 256 bytes, and the matrices begin 256 elements further.
  const int address = one.offset == 0 ? 256 : one.offset * static_cast<int>(size_bytes(one.problem.dtype));
  return gemm_large_shape(one.problem, {address, address, address});
}

void LargeWorkspace::provide(const GemmLargeKernel& kernel, const GemmProblem& problem,
                             GemmLargeOperands& o) {
  const GemmLargeLaunch needs = kernel.needs(problem);
  const auto grow = [&](std::vector<GpuBuffer>& held, std::int64_t bytes) {
    if (!held.empty() && held.front().bytes() >= static_cast<std::size_t>(bytes)) return;
    held.clear();
    held.emplace_back(gpu_, static_cast<std::size_t>(std::max<std::int64_t>(bytes, 1 << 20)));
    held.front().fill(0, nullptr);
    gpu_.synchronize();
  };
  grow(sums_, needs.workspace_bytes);
  grow(counters_, needs.counter_count * 4);
  o.workspace = sums_.front().as<void>();
  o.counters = counters_.front().as<void>();
}

// Typed state behind one pointer.
struct LargeChecker::State {
  virtual ~State() = default;
};
namespace {
template <class T, class Base>
struct TypedState : Base {
  Matrix<T> a, b, c;
  T alpha{}, beta{};
  std::vector<T> wanted;
  std::vector<double> bound;
  TypedState(Matrix<T> x, Matrix<T> y, Matrix<T> z) : a(std::move(x)), b(std::move(y)), c(std::move(z)) {}
};

template <class T>
void reference_column(const GemmProblem& p, Matrix<T>& a, Matrix<T>& b, std::int64_t j, T* sums,
                      double* sizes) {
  for (std::int64_t l = 0; l < p.k; ++l) {
    const T y = op_value(p.op_b == Op::none ? b.at(l, j) : b.at(j, l), p.op_b);
    for (std::int64_t i = 0; i < p.m; ++i) {
      const T x = op_value(p.op_a == Op::none ? a.at(i, l) : a.at(l, i), p.op_a);
      sums[i] += x * y;
      sizes[i] += std::abs(x) * std::abs(y);
    }
  }
}
}  // namespace

LargeChecker::LargeChecker(const Gpu& gpu, LargeWorkspace& workspace, const LargeSmall& one, unsigned seed)
    : gpu_(gpu), workspace_(workspace), one_(one) {
  dispatch(one.problem.dtype, [&]<class T>() { prepare<T>(seed); });
}
LargeChecker::~LargeChecker() = default;

template <class T>
void LargeChecker::prepare(unsigned seed) {
  using R = typename RealOf<T>::type;
  std::mt19937 random(seed);
  const GemmProblem& p = one_.problem;
  auto s =
      std::make_unique<TypedState<T, State>>(Matrix<T>(p.a_rows(), p.a_cols(), p.lda, one_.offset, random),
                                             Matrix<T>(p.b_rows(), p.b_cols(), p.ldb, one_.offset, random),
                                             Matrix<T>(p.m, p.n, p.ldc, one_.offset, random));
  s->alpha = p.alpha == Scalar::one ? T(1) : p.alpha == Scalar::zero ? T(0) : random_value<T>(random);
  s->beta = p.beta == Scalar::one ? T(1) : p.beta == Scalar::zero ? T(0) : random_value<T>(random);
  if (p.beta == Scalar::zero) std::fill(s->c.values.begin(), s->c.values.end(), nan_value<T>());
  s->wanted.assign(static_cast<std::size_t>(p.m * p.n), T{});
  s->bound.assign(s->wanted.size(), 0.0);
  std::vector<std::thread> threads;
  const std::int64_t count = std::max(1u, std::thread::hardware_concurrency());
  for (std::int64_t t = 0; t < count; ++t)
    threads.emplace_back([&, t] {
      for (std::int64_t j = t; j < p.n; j += count)
        reference_column(p, s->a, s->b, j, s->wanted.data() + j * p.m, s->bound.data() + j * p.m);
    });
  for (auto& thread : threads) thread.join();
  for (std::int64_t j = 0; j < p.n; ++j)
    for (std::int64_t i = 0; i < p.m; ++i) {
      const auto at = static_cast<std::size_t>(j * p.m + i);
      double size = s->bound[at] * std::abs(s->alpha);
      s->wanted[at] *= s->alpha;
      if (p.beta != Scalar::zero) {
        s->wanted[at] += s->beta * s->c.at(i, j);
        size += std::abs(s->beta * s->c.at(i, j));
      }
      s->bound[at] = (double(p.k) + 4) * double(std::numeric_limits<R>::epsilon()) * size + 1e-300;
    }
  state_ = std::move(s);
}

LargeCheck LargeChecker::check(const GemmLargeKernel& kernel) {
  return dispatch(one_.problem.dtype, [&]<class T>() { return check_typed<T>(kernel); });
}

template <class T>
LargeCheck LargeChecker::check_typed(const GemmLargeKernel& kernel) {
  auto& s = static_cast<TypedState<T, State>&>(*state_);
  const GemmProblem& p = one_.problem;
  const auto upload = [&](const Matrix<T>& matrix) {
    GpuBuffer buffer(gpu_, matrix.values.size() * sizeof(T));
    buffer.write(matrix.values.data(), buffer.bytes());
    return buffer;
  };
  const GpuBuffer a = upload(s.a), b = upload(s.b), c = upload(s.c);
  const std::size_t skip = static_cast<std::size_t>(s.a.first) * sizeof(T);
  GemmLargeOperands o{a.as<void>(skip), b.as<void>(skip), c.as<void>(skip), &s.alpha, &s.beta};
  workspace_.provide(kernel, p, o);
  kernel.launch(p, o, nullptr);
  gpu_.synchronize();
  Matrix<T> out = s.c;
  c.read(out.values.data(), c.bytes());
  LargeCheck result;
  for (std::int64_t j = 0; j < p.n; ++j)
    for (std::int64_t i = 0; i < p.m; ++i) {
      const auto at = static_cast<std::size_t>(j * p.m + i);
      const double share = std::abs(out.at(i, j) - s.wanted[at]) / s.bound[at];
      if (!(share <= result.error)) result.error = std::isnan(share) ? 1e30 : share;
      if (!(share <= 1) && result.fault.empty())
        result.fault = fmt::format("{}: element ({}, {}) is wrong", to_string(p), i, j);
      out.at(i, j) = s.c.at(i, j);
    }
  if (result.fault.empty() && std::memcmp(out.values.data(), s.c.values.data(), c.bytes()) != 0)
    result.fault = fmt::format("{}: something outside C was written", to_string(p));
  return result;
}

LargeOperandPool::LargeOperandPool(const Gpu& gpu, std::size_t bytes_each)
    : gpu_(gpu), a_(gpu, bytes_each), b_(gpu, bytes_each), c_(gpu, bytes_each) {}

void LargeOperandPool::fill(DType dtype) {
  std::mt19937_64 random(7);
  const bool wide = dtype == DType::f64 || dtype == DType::c128;
  // An even count, so that complex numbers keep their parts, and one that no matrix size divides.
  period_ = std::min<std::size_t>((16u << 20) / 8 - 34, c_.bytes() / 8);
  block_f64_.resize(period_);
  block_f32_.resize(period_);
  std::uniform_real_distribution<double> uniform(-0.5, 0.5);
  for (std::size_t i = 0; i < period_; ++i) {
    block_f64_[i] = uniform(random);
    block_f32_[i] = static_cast<float>(block_f64_[i]);
  }
  for (GpuBuffer* buffer : {&a_, &b_}) {
    const std::size_t bytes = period_ * (wide ? 8 : 4);
    buffer->write(wide ? static_cast<const void*>(block_f64_.data()) : block_f32_.data(), bytes);
    buffer->repeat(bytes);
  }
}

void LargeOperandPool::poison() {
  c_.fill(0xFF, nullptr);
  gpu_.synchronize();
}

template <class T>
T LargeOperandPool::element(std::int64_t index) const {
  const auto at = [&](std::size_t i) {
    if constexpr (sizeof(typename RealOf<T>::type) == 8)
      return block_f64_[i % period_];
    else
      return block_f32_[i % period_];
  };
  const auto i = static_cast<std::size_t>(index);
  if constexpr (is_pair<T>)
    return T(at(2 * i), at(2 * i + 1));
  else
    return at(i);
}

LargeCheck LargeOperandPool::sample(const GemmProblem& problem) const {
  return dispatch(problem.dtype, [&]<class T>() { return sample_typed<T>(problem); });
}

template <class T>
LargeCheck LargeOperandPool::sample_typed(const GemmProblem& p) const {
  std::mt19937 random(3);
  const auto places = [&](std::int64_t size) {
    std::vector<std::int64_t> chosen = {0, size - 1, size / 2, std::min<std::int64_t>(127, size - 1),
                                        std::min<std::int64_t>(128, size - 1)};
    for (int i = 0; i < 7; ++i)
      chosen.push_back(static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(size)));
    return chosen;
  };
  LargeCheck result;
  std::vector<T> column(static_cast<std::size_t>(p.m));
  const double unit = double(std::numeric_limits<typename RealOf<T>::type>::epsilon());
  for (const std::int64_t j : places(p.n)) {
    c_.read(column.data(), column.size() * sizeof(T), static_cast<std::size_t>(j * p.ldc) * sizeof(T));
    for (const std::int64_t i : places(p.m)) {
      T sum{};
      double size = 0;
      for (std::int64_t l = 0; l < p.k; ++l) {
        const T x = op_value(element<T>(p.op_a == Op::none ? l * p.lda + i : i * p.lda + l), p.op_a);
        const T y = op_value(element<T>(p.op_b == Op::none ? j * p.ldb + l : l * p.ldb + j), p.op_b);
        sum += x * y;
        size += std::abs(x) * std::abs(y);
      }
      const double share =
          std::abs(column[static_cast<std::size_t>(i)] - sum) / ((double(p.k) + 4) * unit * size + 1e-300);
      if (!(share <= result.error)) result.error = std::isnan(share) ? 1e30 : share;
      if (!(share <= 1) && result.fault.empty())
        result.fault = fmt::format("{}: element ({}, {}) is wrong", to_string(p), i, j);
    }
  }
  return result;
}

}  // namespace tilewright::bench
