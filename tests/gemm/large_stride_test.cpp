// Offsets and products that pass 2^31 and 2^32: strides, leading dimensions and counts in address space
// without memory behind it. Every kernel must compute such a problem or be declined for it, never wrap
// around.
#include <gtest/gtest.h>

#include "core/dispatch.hpp"
#include "kernel/gemm_small_cpu/kernel.hpp"
#include "support/isas.hpp"
#include "support/pages.hpp"
#include "support/trap.hpp"
#include "tilewright/gemm.hpp"

namespace tilewright::testing {
namespace {

constexpr std::int64_t beyond_32_bits = (std::int64_t(1) << 31) + 7;

// Small integers, different at every place, so that a wrapped address shows as a wrong value.
template <class T>
T value_at(std::int64_t p, std::int64_t i, std::int64_t j) {
  return T(static_cast<float>((p * 5 + i * 3 + j * 7) % 11 - 5));
}

// One operand in address space of its own; element (i, j) of problem p where the layout says.
template <class T>
struct SparseOperand {
  std::int64_t rows, cols, ld, stride, block, count;
  SparsePages pages;

  SparseOperand(std::int64_t rows_, std::int64_t cols_, std::int64_t ld_, std::int64_t stride_,
                std::int64_t block_, std::int64_t count_)
      : rows(rows_),
        cols(cols_),
        ld(ld_),
        stride(stride_),
        block(block_),
        count(count_),
        pages(static_cast<std::size_t>(index(count - 1, rows - 1, cols - 1) + 64) * sizeof(T)) {}

  T* data() const { return reinterpret_cast<T*>(pages.data()); }
  std::int64_t index(std::int64_t p, std::int64_t i, std::int64_t j) const {
    if (block == 0) return p * stride + j * ld + i;
    return p / block * block * ld * cols + (j * ld + i) * block + p % block;
  }
  T& at(std::int64_t p, std::int64_t i, std::int64_t j) const { return data()[index(p, i, j)]; }
};

template <class T>
class LargeProblem {
 public:
  explicit LargeProblem(const GemmProblem& problem)
      : q_(problem),
        a_(q_.a_rows(), q_.a_cols(), q_.lda, q_.stride_a, q_.block, q_.batch_count),
        b_(q_.b_rows(), q_.b_cols(), q_.ldb, q_.stride_b, q_.block, q_.batch_count),
        c_(q_.m, q_.n, q_.ldc, q_.stride_c, q_.block, q_.batch_count) {
    if (!mapped()) return;
    for (const auto* x : {&a_, &b_, &c_})
      for (std::int64_t p = 0; p < x->count; ++p)
        for (std::int64_t j = 0; j < x->cols; ++j)
          for (std::int64_t i = 0; i < x->rows; ++i) x->at(p, i, j) = value_at<T>(p, i, j);
  }

  bool mapped() const { return a_.pages && b_.pages && c_.pages; }

  Operands operands() const {
    Operands o;
    o.a = a_.data();
    o.b = b_.data();
    o.c = c_.data();
    return o;
  }

  // C = A B + C, with C's first values known.
  void expect_right(const std::string& text) const {
    for (std::int64_t p = 0; p < q_.batch_count; ++p)
      for (std::int64_t j = 0; j < q_.n; ++j)
        for (std::int64_t i = 0; i < q_.m; ++i) {
          T sum = value_at<T>(p, i, j);
          for (std::int64_t l = 0; l < q_.k; ++l)
            sum += (q_.op_a == Op::none ? a_.at(p, i, l) : a_.at(p, l, i)) *
                   (q_.op_b == Op::none ? b_.at(p, l, j) : b_.at(p, j, l));
          ASSERT_EQ(c_.at(p, i, j), sum) << text << ": element (" << i << ", " << j << ") of problem " << p;
        }
  }

  GemmSmallCpuArguments kernel_args(const GemmSmallCpuKernel& kernel) const {
    GemmSmallCpuArguments args;
    args.a = a_.data();
    args.b = b_.data();
    args.c = c_.data();
    args.count = q_.batch_count;
    const auto step = [&](const SparseOperand<T>& x) {
      return static_cast<std::int64_t>(sizeof(T)) * (x.block == 0 ? x.stride : x.block * x.ld * x.cols);
    };
    args.stride_a = step(a_);
    args.stride_b = step(b_);
    args.stride_c = step(c_);
    args.self = &kernel;
    return args;
  }

  void run(Context& context, const GemmOptions& options) const {
    plan(context, q_, options).template run<T>(T(1), a_.data(), b_.data(), T(1), c_.data());
  }

 private:
  GemmProblem q_;
  SparseOperand<T> a_, b_, c_;
};

struct Named {
  const char* name;
  GemmProblem problem;
};

GemmProblem of_shape(Layout layout, Op op_a, Op op_b, std::int64_t batch_count) {
  GemmProblem q;
  q.layout = layout;
  q.op_a = op_a;
  q.op_b = op_b;
  q.m = 5;
  q.n = 3;
  q.k = 4;
  q.lda = q.a_rows();
  q.ldb = q.b_rows();
  q.ldc = q.m;
  q.batch_count = batch_count;
  q.alpha = q.beta = Scalar::one;
  return q;
}

std::vector<Named> large_problems() {
  std::vector<Named> all;
  const auto strided = [&](const char* name, Op op_a, Op op_b, std::int64_t a, std::int64_t b,
                           std::int64_t c) {
    GemmProblem q = of_shape(Layout::strided, op_a, op_b, 3);
    q.stride_a = a;
    q.stride_b = b;
    q.stride_c = c;
    all.push_back({name, q});
  };
  strided("stride_c", Op::none, Op::none, 20, 12, beyond_32_bits);
  strided("stride_a", Op::none, Op::none, beyond_32_bits, 12, 15);
  strided("stride_b", Op::none, Op::trans, 20, beyond_32_bits, 15);
  strided("all_strides", Op::trans, Op::none, beyond_32_bits, beyond_32_bits, beyond_32_bits);
  for (Layout layout : {Layout::single, Layout::strided})
    for (std::int64_t ld : {beyond_32_bits, (std::int64_t(1) << 29) + 3, (std::int64_t(1) << 27) + 1}) {
      GemmProblem q = of_shape(layout, Op::none, Op::trans, layout == Layout::single ? 1 : 2);
      q.lda = q.ldb = q.ldc = ld;
      q.stride_a = q.stride_b = 0;
      q.stride_c = layout == Layout::single ? 0 : 8;
      all.push_back({"leading_dimension", q});
    }
  for (std::int64_t block : {3, 8}) {
    GemmProblem q = of_shape(block == 3 ? Layout::interleaved : Layout::block_interleaved, Op::none, Op::none,
                             block == 3 ? 3 : 17);
    q.block = block;
    q.lda = q.ldb = q.ldc = std::int64_t(1) << 27;
    all.push_back({"interleaved", q});
  }
  return all;
}

class LargeStride : public ::testing::TestWithParam<Isa> {};

TEST_P(LargeStride, ThroughThePublicPlan) {
  Context context({.cpu = to_string(GetParam()), .use_wisdom = false});
  for (auto& [name, problem] : large_problems())
    for (DType dtype : {DType::f32, DType::f64, DType::c128}) {
      problem.dtype = dtype;
      const std::string text = std::string(name) + ", " + to_string(problem);
      dispatch(dtype, [&]<class T>() {
        const LargeProblem<T> large(problem);
        if (!large.mapped()) GTEST_SKIP() << "the system refuses sparse address space for " << text;
        const auto trap = run_trapped(text, [&] { large.run(context, {.threads = 2}); });
        ASSERT_FALSE(trap) << text << ": " << to_string(*trap);
        large.expect_right(text);
      });
      if (HasFatalFailure() || IsSkipped()) return;
    }
}

// A kernel that its own space declines need not be made; one that is made must be right.
TEST_P(LargeStride, KernelsThatAcceptAreRight) {
  for (auto& [name, problem] : large_problems()) {
    problem.dtype = DType::f64;
    const std::string text = std::string(name) + ", " + to_string(problem);
    const GemmSmallCpuConfig config = gemm_small_cpu_default(problem, GetParam());
    if (!gemm_small_cpu_space(problem, GetParam()).contains(config)) continue;
    const LargeProblem<double> large(problem);
    if (!large.mapped()) GTEST_SKIP() << "the system refuses sparse address space for " << text;
    const auto kernel = make_gemm_small_cpu(problem, config);
    const GemmSmallCpuArguments args = large.kernel_args(*kernel);
    const auto trap = run_trapped(text, [&] { kernel->function()(&args); });
    ASSERT_FALSE(trap) << text << ": " << to_string(*trap);
    large.expect_right(text);
  }
}

INSTANTIATE_TEST_SUITE_P(Isas, LargeStride, ::testing::ValuesIn(runnable_isas()),
                         isa_name<::testing::TestParamInfo<Isa>>);

// Counts that no loop could walk: nothing is to be done, so it must be done at once.
TEST(LargeCount, EmptyProblemsCostNothing) {
  Context context;
  double x[1] = {1}, y[1] = {1}, z[1] = {7};
  const std::int64_t count = std::int64_t(1) << 40;
  gemm_batched<double>(context, Op::none, Op::none, 1.0, StridedBatch<const double>{{x, 0, 4, 1}, 4, count},
                       StridedBatch<const double>{{y, 4, 0, 4}, 4, count}, 0.0,
                       StridedBatch<double>{{z, 0, 0, 1}, 1, count});
  gemm_batched<double>(context, Op::none, Op::none, 1.0, StridedBatch<const double>{{x, 0, 1, 1}, 4, count},
                       StridedBatch<const double>{{y, 1, 1, 4}, 4, count}, 0.0,
                       StridedBatch<double>{{z, 0, 1, 1}, 1, count});
  gemm_batched<double>(context, Op::none, Op::none, 1.0, InterleavedBatch<const double>{x, 3, 0, 3, 8, count},
                       InterleavedBatch<const double>{y, 0, 0, 1, 8, count}, 0.0,
                       InterleavedBatch<double>{z, 3, 0, 3, 8, count});
  EXPECT_EQ(z[0], 7);
}

// More problems than 32 bits count, sharing A and B; only C has memory, one byte of address space in sixteen
// thousand of it touched would be too much, so beta = 1 and alpha = 0 leave C alone.
TEST(LargeCount, NothingToAddLeavesCAlone) {
  Context context;
  const double x[1] = {1}, y[1] = {1};
  const std::int64_t count = (std::int64_t(1) << 32) + 5;
  SparsePages c(static_cast<std::size_t>(count) * sizeof(double));
  if (!c) GTEST_SKIP() << "the system refuses sparse address space";
  auto* data = reinterpret_cast<double*>(c.data());
  data[count - 1] = 3;
  gemm_batched<double>(context, Op::none, Op::none, 0.0, StridedBatch<const double>{{x, 1, 1, 1}, 0, count},
                       StridedBatch<const double>{{y, 1, 1, 1}, 0, count}, 1.0,
                       StridedBatch<double>{{data, 1, 1, 1}, 1, count});
  EXPECT_EQ(data[count - 1], 3);
}

}  // namespace
}  // namespace tilewright::testing
