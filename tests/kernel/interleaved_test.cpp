// Compares the generated kernels for interleaved batches with naive loops: every type, operation, class of
// alpha and beta, many block sizes and counts, both ISAs. Data are small integers, so results must be equal
// to the last bit. Every operand ends (or begins) at an inaccessible page, and all other elements hold NaN.
#include "kernel/gemm_small_cpu/interleaved.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <complex>
#include <cstring>
#include <random>
#include <vector>

#include "core/dispatch.hpp"
#include "kernel/gemm_small_cpu/parts.hpp"
#include "kernel/jit/x86.hpp"
#include "support/cases.hpp"
#include "support/pages.hpp"

namespace tilewright {
namespace {

using testing::Edge;
using testing::GuardedPages;

std::vector<Isa> isas() {
  std::vector<Isa> found;
  for (const Isa isa : {Isa::avx2, Isa::avx512})
    if (jit_available(isa)) found.push_back(isa);
  return found;
}

// One interleaved operand between guard pages; live elements are set, the rest stays NaN.
template <class T>
class Operand {
 public:
  Operand(std::int64_t rows, std::int64_t cols, std::int64_t ld, std::int64_t block, std::int64_t count,
          Edge edge)
      : rows_(rows), cols_(cols), ld_(ld), block_(block), count_(count) {
    const std::int64_t elements = (count + block - 1) / block * block * ld * cols;
    bytes_ = static_cast<std::size_t>(elements) * sizeof(T);
    pages_ = GuardedPages(bytes_, edge);
  }

  T* data() const { return reinterpret_cast<T*>(pages_.data()); }
  T& at(std::int64_t p, std::int64_t i, std::int64_t j) const {
    return data()[p / block_ * block_ * ld_ * cols_ + (j * ld_ + i) * block_ + p % block_];
  }
  std::int64_t block_bytes() const { return block_ * ld_ * cols_ * static_cast<std::int64_t>(sizeof(T)); }
  void randomise(std::mt19937& random) const {
    std::uniform_int_distribution<int> values(-3, 3);
    const auto number = [&] {
      if constexpr (std::is_floating_point_v<T>)
        return T(values(random));
      else
        return T(typename T::value_type(values(random)), typename T::value_type(values(random)));
    };
    for (std::int64_t p = 0; p < count_; ++p)
      for (std::int64_t j = 0; j < cols_; ++j)
        for (std::int64_t i = 0; i < rows_; ++i) at(p, i, j) = number();
  }
  std::vector<std::byte> bytes() const { return {pages_.data(), pages_.data() + bytes_}; }
  void assign(const std::vector<std::byte>& bytes) const {
    if (!bytes.empty()) std::memcpy(pages_.data(), bytes.data(), bytes.size());
  }

 private:
  std::int64_t rows_, cols_, ld_, block_, count_;
  std::size_t bytes_ = 0;
  GuardedPages pages_;
};

struct Trial {
  GemmProblem problem;
  std::int64_t count = 0;
  bool per_problem = false;  // alpha and beta, if they are general
  Edge edge = Edge::end;
  std::int64_t split = 0;  // problems of the first call; a second call does the rest
};

std::string name_of(const Trial& trial, const GemmSmallCpuConfig& config) {
  return describe(trial.problem) + " count=" + std::to_string(trial.count) +
         " split=" + std::to_string(trial.split) + (trial.per_problem ? " per problem " : " ") +
         describe(config);
}

template <class T>
T conjugate(T value, Op op) {
  if constexpr (!std::is_floating_point_v<T>)
    if (op == Op::conj_trans) return std::conj(value);
  return value;
}

template <class T>
struct Scalars {
  std::vector<T> values;
  GuardedPages pages;
  std::int64_t stride = 0;

  Scalars(Scalar kind, const Trial& trial, std::vector<T> pattern) {
    const std::int64_t count = trial.per_problem ? trial.count : 1;
    for (std::int64_t p = 0; p < count; ++p)
      values.push_back(kind == Scalar::zero  ? T(0)
                       : kind == Scalar::one ? T(1)
                                             : pattern[p % pattern.size()]);
    pages = GuardedPages(values.size() * sizeof(T), Edge::end);
    std::memcpy(pages.data(), values.data(), values.size() * sizeof(T));
    if (trial.per_problem) stride = sizeof(T);
  }
  T operator[](std::int64_t p) const { return values[stride == 0 ? 0 : p]; }
  const std::byte* address(std::int64_t p) const { return pages.data() + p * stride; }
};

template <class T>
std::vector<T> pattern(double first) {
  std::vector<T> values{T(first), T(0), T(-1), T(3)};
  if constexpr (!std::is_floating_point_v<T>) values[0] = T(first, -1), values[3] = T(0, 2);
  return values;
}

template <class T>
void multiply_naively(const GemmProblem& q, std::int64_t p, T alpha, const Operand<T>& a, const Operand<T>& b,
                      T beta, const Operand<T>& c) {
  for (std::int64_t j = 0; j < q.n; ++j)
    for (std::int64_t i = 0; i < q.m; ++i) {
      T sum{};
      for (std::int64_t s = 0; s < q.k && alpha != T{}; ++s) {
        const T x = conjugate(q.op_a == Op::none ? a.at(p, i, s) : a.at(p, s, i), q.op_a);
        const T y = conjugate(q.op_b == Op::none ? b.at(p, s, j) : b.at(p, j, s), q.op_b);
        sum += x * y;
      }
      T& out = c.at(p, i, j);
      out = beta == T{} ? alpha * sum : alpha * sum + beta * out;
    }
}

template <class T>
void check(const Trial& trial, const GemmSmallCpuConfig& config) {
  const GemmProblem& q = trial.problem;
  std::mt19937 random(static_cast<unsigned>(hash_fields(q)));
  const Operand<T> a(q.a_rows(), q.a_cols(), q.lda, q.block, trial.count, trial.edge);
  const Operand<T> b(q.b_rows(), q.b_cols(), q.ldb, q.block, trial.count, trial.edge);
  const Operand<T> c(q.m, q.n, q.ldc, q.block, trial.count, trial.edge);
  a.randomise(random), b.randomise(random);
  if (q.beta != Scalar::zero) c.randomise(random);
  const Scalars<T> alpha(q.alpha, trial, pattern<T>(2)), beta(q.beta, trial, pattern<T>(-2));

  const auto start = c.bytes();
  for (std::int64_t p = 0; p < trial.count; ++p) multiply_naively(q, p, alpha[p], a, b, beta[p], c);
  const auto expected = c.bytes();
  c.assign(start);

  const auto kernel = make_interleaved(q, config);
  const auto call = [&](std::int64_t first, std::int64_t count) {
    GemmSmallCpuArguments args;
    args.a = a.data() + (first / q.block * a.block_bytes() / sizeof(T) + first % q.block);
    args.b = b.data() + (first / q.block * b.block_bytes() / sizeof(T) + first % q.block);
    args.c = c.data() + (first / q.block * c.block_bytes() / sizeof(T) + first % q.block);
    args.count = count;
    args.stride_a = a.block_bytes(), args.stride_b = b.block_bytes(), args.stride_c = c.block_bytes();
    args.alpha = alpha.address(first), args.alpha_stride = alpha.stride;
    args.beta = beta.address(first), args.beta_stride = beta.stride;
    args.self = kernel.get();
    kernel->function()(&args);
  };
  call(0, trial.split);
  call(trial.split, trial.count - trial.split);
  // Adding a zero product turns -0 into +0, so live elements compare as numbers and everything else as bytes.
  const auto actual = c.bytes();
  const auto* x = reinterpret_cast<const T*>(actual.data());
  const auto* y = reinterpret_cast<const T*>(expected.data());
  for (std::size_t at = 0; at < actual.size() / sizeof(T); ++at)
    ASSERT_TRUE(x[at] == y[at] || std::memcmp(x + at, y + at, sizeof(T)) == 0)
        << name_of(trial, config) << " element " << at;
}

void check(const Trial& trial, const GemmSmallCpuConfig& config) {
  dispatch(trial.problem.dtype, [&]<class T>() { check<T>(trial, config); });
}

void check_defaults(const Trial& trial) {
  for (const Isa isa : isas()) {
    const GemmSmallCpuConfig config = interleaved_default(trial.problem, isa);
    ASSERT_TRUE(interleaved_space(trial.problem, isa).contains(config)) << name_of(trial, config);
    check(trial, config);
    if (::testing::Test::HasFatalFailure()) return;
  }
}

Trial make_run(DType dtype, cases::Size size, std::int64_t block, std::int64_t count, std::int64_t pad = 0) {
  Trial trial;
  GemmProblem& q = trial.problem;
  q.dtype = dtype;
  q.m = size.m, q.n = size.n, q.k = size.k;
  q.layout = Layout::block_interleaved;
  q.block = block;
  q.batch_count = trial.count = count;
  q.lda = q.m + pad, q.ldb = q.k + pad, q.ldc = q.m + pad;
  return trial;
}

void set_ops(GemmProblem& q, Op op_a, Op op_b, std::int64_t pad) {
  q.op_a = op_a, q.op_b = op_b;
  q.lda = q.a_rows() + pad, q.ldb = q.b_rows() + pad;
}

TEST(Interleaved, DealsRowsEvenly) {
  for (int total = 1; total <= 64; ++total)
    for (int at_most = 1; at_most <= 12; ++at_most) {
      const auto strips = deal(total, at_most);
      EXPECT_EQ(strips[0].size * strips[0].count + strips[1].size * strips[1].count, total);
      EXPECT_LE(strips[0].size, at_most);
      EXPECT_GT(strips[0].count, 0);
    }
}

TEST(Interleaved, SizesFromOneTo64) {
  for (const DType dtype : cases::dtypes)
    for (std::int64_t n : {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 15, 16, 17, 31, 64})
      for (const Scalar beta : {Scalar::zero, Scalar::one}) {
        Trial trial = make_run(dtype, cases::square(n), 16, 19);
        trial.problem.beta = beta;
        check_defaults(trial);
        if (HasFatalFailure()) return;
      }
}

TEST(Interleaved, RectangularSizesAndEmptyOnes) {
  for (const DType dtype : cases::dtypes)
    for (const cases::Size size : {cases::Size{5, 13, 23},
                                   {4, 4, 64},
                                   {24, 8, 3},
                                   {1, 9, 7},
                                   {9, 1, 1},
                                   {64, 1, 2},
                                   {1, 64, 2},
                                   {3, 2, 0},
                                   {0, 3, 2},
                                   {2, 0, 3}})
      for (const Scalar beta : {Scalar::zero, Scalar::one, Scalar::general}) {
        Trial trial = make_run(dtype, size, 8, 13);
        trial.problem.beta = beta;
        check_defaults(trial);
        if (HasFatalFailure()) return;
      }
}

TEST(Interleaved, OperationsAndLeadingDimensions) {
  for (const DType dtype : cases::dtypes)
    for (const Op op_a : cases::ops)
      for (const Op op_b : cases::ops)
        for (const cases::Size size : {cases::Size{3, 4, 5}, {13, 7, 9}})
          for (std::int64_t pad : {0, 3}) {
            Trial trial = make_run(dtype, size, 24, 29, pad);
            set_ops(trial.problem, op_a, op_b, pad);
            trial.problem.beta = Scalar::one;
            check_defaults(trial);
            if (HasFatalFailure()) return;
          }
}

TEST(Interleaved, ScalarsForAllAndPerProblem) {
  for (const DType dtype : cases::dtypes)
    for (const Scalar alpha : {Scalar::zero, Scalar::one, Scalar::general})
      for (const Scalar beta : {Scalar::zero, Scalar::one, Scalar::general})
        for (const bool per_problem : {false, true})
          for (std::int64_t block : {5, 16, 72}) {
            Trial trial = make_run(dtype, {4, 5, 3}, block, 77, 1);
            trial.problem.alpha = alpha, trial.problem.beta = beta;
            set_ops(trial.problem, Op::none, Op::conj_trans, 1);
            trial.per_problem = per_problem;
            check_defaults(trial);
            if (HasFatalFailure()) return;
          }
}

TEST(Interleaved, BlocksAndCountsThatFitNoVector) {
  for (const DType dtype : cases::dtypes)
    for (std::int64_t block : {1, 2, 3, 4, 7, 8, 15, 16, 17, 32, 33, 72, 168})
      for (std::int64_t count :
           {std::int64_t{1}, std::int64_t{2}, block - 1, block, block + 1, 2 * block + 3})
        for (const Edge edge : {Edge::begin, Edge::end}) {
          if (count < 1) continue;
          Trial trial = make_run(dtype, {3, 3, 4}, block, count);
          trial.problem.beta = Scalar::one;
          trial.edge = edge;
          check_defaults(trial);
          if (HasFatalFailure()) return;
        }
}

TEST(Interleaved, FullyInterleavedBatchInTwoRuns) {
  for (const DType dtype : cases::dtypes)
    for (std::int64_t count : {1, 63, 64, 65, 200, 333})
      for (std::int64_t split : {0, 64, 128}) {
        if (split > count) continue;
        Trial trial = make_run(dtype, {5, 4, 6}, count, count);
        trial.problem.layout = Layout::interleaved;
        trial.problem.alpha = trial.problem.beta = Scalar::general;
        trial.per_problem = true;
        trial.split = split;
        check_defaults(trial);
        if (HasFatalFailure()) return;
      }
}

// NaN in the padding and in C if beta = 0 occur in all of these tests; this one also has NaN in A if alpha[p]
// = 0.
TEST(Interleaved, ZeroAlphaOfOneProblemHidesNaN) {
  for (const Isa isa : isas())
    for (const bool complex : {false, true}) {
      Trial trial = make_run(complex ? DType::c128 : DType::f64, {2, 2, 2}, 8, 8);
      trial.problem.alpha = Scalar::general;
      const auto kernel = make_interleaved(trial.problem, interleaved_default(trial.problem, isa));
      const std::size_t parts = complex ? 2 : 1;
      std::vector<double> a(32 * parts, std::nan("")), b(32 * parts, 1.0), c(32 * parts, std::nan(""));
      const std::vector<double> alpha(8 * parts, 0.0);
      GemmSmallCpuArguments args{.a = a.data(), .b = b.data(), .c = c.data(), .count = 8};
      args.alpha = alpha.data(), args.alpha_stride = static_cast<std::int64_t>(8 * parts);
      kernel->function()(&args);
      for (const double value : c) EXPECT_EQ(value, 0.0);
    }
}

// Moves every axis away from its default, one at a time and at random.
TEST(Interleaved, RandomPointsOfTheSpace) {
  std::mt19937 random(20201);
  const auto pick = [&](auto values) { return values[random() % values.size()]; };
  int checked = 0;
  for (int attempt = 0; attempt < 6000 && checked < 600; ++attempt) {
    Trial trial = make_run(
        pick(std::vector(cases::dtypes.begin(), cases::dtypes.end())),
        {pick(std::vector<std::int64_t>{1, 2, 5, 8, 13}), pick(std::vector<std::int64_t>{1, 3, 4, 9, 14}),
         pick(std::vector<std::int64_t>{1, 2, 6, 9, 17})},
        pick(std::vector<std::int64_t>{4, 8, 16, 32, 40, 72}), 1 + random() % 90, random() % 2);
    GemmProblem& q = trial.problem;
    set_ops(q, pick(std::vector{Op::none, Op::trans, Op::conj_trans}),
            pick(std::vector{Op::none, Op::trans, Op::conj_trans}), random() % 2);
    q.alpha = pick(std::vector{Scalar::one, Scalar::general});
    q.beta = pick(std::vector{Scalar::zero, Scalar::one, Scalar::general});
    trial.per_problem = random() % 2;
    trial.edge = pick(std::vector{Edge::begin, Edge::end});
    if (isas().empty()) GTEST_SKIP() << "no generated code on this machine";
    GemmSmallCpuConfig config{.isa = pick(isas()), .vector_bits = pick(std::vector{256, 512})};
    config.mr = pick(std::vector{1, 2, 3, 4, 5, 7}), config.nr = pick(std::vector{1, 2, 3, 4, 5, 7});
    config.k_unroll = pick(std::vector{0, 1, 2, 4, 8});
    config.hold = pick(std::vector{Hold::a, Hold::b});
    config.c_load = pick(std::vector{CLoad::early, CLoad::late});
    config.store = pick(std::vector{Store::plain, Store::non_temporal});
    config.prefetch_bytes = pick(std::vector{0, 512, 4096, 16384});
    if (config.prefetch_bytes > 0) config.prefetch_a = random() % 2, config.prefetch_b = random() % 2;
    if (!interleaved_space(q, config.isa).contains(config)) continue;
    ++checked;
    check(trial, config);
    if (HasFatalFailure()) return;
  }
  EXPECT_GE(checked, 100);
}

TEST(Interleaved, RefusesConfigsOutsideTheSpace) {
  for (const Isa isa : isas()) {
    const Trial trial = make_run(DType::f64, cases::square(8), 8, 8);
    GemmSmallCpuConfig config = interleaved_default(trial.problem, isa);
    config.mr = 8, config.nr = 8;
    EXPECT_THROW(make_interleaved(trial.problem, config), Error);
  }
}

// In a fully interleaved batch this large, one column is gigabytes: only the constraint of the displacements
// matters.
TEST(Interleaved, DefaultsReachAcrossHugeBlocks) {
  for (const Isa isa : isas()) {
    Trial trial = make_run(DType::c128, cases::square(64), 100'000'000, 100'000'000);
    const GemmSmallCpuConfig config = interleaved_default(trial.problem, isa);
    EXPECT_TRUE(interleaved_space(trial.problem, isa).contains(config)) << name_of(trial, config);
    EXPECT_GT(make_interleaved(trial.problem, config)->counts().code_bytes, 0);
  }
}

TEST(Interleaved, CountsMultiplyAddsOfTheCode) {
  for (const Isa isa : isas())
    for (std::int64_t n : {2, 8, 13}) {
      const Trial trial = make_run(DType::f32, cases::square(n), 16, 16);
      GemmSmallCpuConfig config = interleaved_default(trial.problem, isa);
      config.k_unroll = 1;
      const KernelCounts counts = make_interleaved(trial.problem, config)->counts();
      const double lanes = config.vector_bits / 32;
      EXPECT_NEAR(counts.multiply_adds * lanes, static_cast<double>(n * n * n), 1e-6);
      EXPECT_NEAR(counts.stores * lanes, static_cast<double>(n * n), 1e-6);
      EXPECT_GE(counts.instructions, counts.multiply_adds + counts.stores);
    }
}

}  // namespace
}  // namespace tilewright
