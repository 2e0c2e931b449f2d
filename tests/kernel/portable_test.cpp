// Compares the portable kernels with a plain loop, on every instruction set of Highway that this machine has:
// all layouts, ops and types at edge sizes, operands against inaccessible pages, NaN in memory that must not
// be read.
#include "kernel/gemm_small_cpu/portable.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "core/dispatch.hpp"
#include "core/problem.hpp"
// Included after the portable header, which selects the targets.
#include "hwy/highway.h"

namespace tilewright {
namespace {

// Memory between two inaccessible pages. Data end right before the upper page or begin right after the lower
// one.
class BatchArena {
 public:
  BatchArena() : page_(static_cast<std::size_t>(sysconf(_SC_PAGESIZE))) {
    base_ =
        static_cast<char*>(mmap(nullptr, usable + 2 * page_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    if (base_ == MAP_FAILED || mprotect(base_ + page_, usable, PROT_READ | PROT_WRITE) != 0) std::abort();
  }
  ~BatchArena() { munmap(base_, usable + 2 * page_); }
  BatchArena(const BatchArena&) = delete;
  BatchArena& operator=(const BatchArena&) = delete;

  template <class T>
  T* place(std::int64_t count, bool at_end) {
    const auto bytes = static_cast<std::size_t>(count) * sizeof(T);
    if (bytes > usable) std::abort();
    return reinterpret_cast<T*>(base_ + page_ + (at_end ? usable - bytes : 0));
  }

 private:
  static constexpr std::size_t usable = 16 << 20;
  std::size_t page_;
  char* base_;
};

template <class T>
T nan_of() {
  if constexpr (std::is_floating_point_v<T>)
    return std::numeric_limits<T>::quiet_NaN();
  else
    return T(std::numeric_limits<typename T::value_type>::quiet_NaN(),
             std::numeric_limits<typename T::value_type>::quiet_NaN());
}

// Small integers, so that every order of summation gives the same result.
template <class T>
T number(std::mt19937_64& random, int limit = 4) {
  const auto draw = [&] { return static_cast<double>(static_cast<int>(random() % (2 * limit + 1)) - limit); };
  if constexpr (std::is_floating_point_v<T>)
    return static_cast<T>(draw());
  else {
    const double re = draw();
    return T(static_cast<typename T::value_type>(re), static_cast<typename T::value_type>(draw()));
  }
}

// A batch of one operand in an arena; elements outside all problems are NaN.
template <class T>
struct StoredBatch {
  const GemmProblem* problem;
  std::int64_t rows, cols, ld, stride;
  T* data = nullptr;
  std::int64_t count = 0;

  std::int64_t at(std::int64_t p, std::int64_t i, std::int64_t j) const {
    if (is_interleaved(problem->layout)) {
      const std::int64_t block = problem->block;
      return p / block * block * ld * cols + (j * ld + i) * block + p % block;
    }
    // Pointer batches run backwards through memory, so that a kernel cannot rely on neighbours.
    return (problem->layout == Layout::pointer ? problem->batch_count - 1 - p : p) * stride + j * ld + i;
  }
  void place(BatchArena& arena, bool at_end) {
    for (std::int64_t p = 0; p < problem->batch_count; ++p)
      if (rows > 0 && cols > 0) count = std::max(count, at(p, rows - 1, cols - 1) + 1);
    data = arena.place<T>(count, at_end);
    std::fill_n(data, count, nan_of<T>());
  }
  template <class F>
  void each(F&& f) {
    for (std::int64_t p = 0; p < problem->batch_count; ++p)
      for (std::int64_t j = 0; j < cols; ++j)
        for (std::int64_t i = 0; i < rows; ++i) f(p, i, j, data[at(p, i, j)]);
  }
};

template <class T>
T element(const StoredBatch<T>& x, Op op, std::int64_t p, std::int64_t i, std::int64_t j) {
  const T value = op == Op::none ? x.data[x.at(p, i, j)] : x.data[x.at(p, j, i)];
  if constexpr (!std::is_floating_point_v<T>)
    if (op == Op::conj_trans) return std::conj(value);
  return value;
}

template <class T>
struct PortableScalars {
  std::vector<T> values;
  std::int64_t stride = 0;
  T operator()(Scalar kind, std::int64_t p) const {
    if (kind != Scalar::general) return kind == Scalar::one ? T(1) : T(0);
    return values[static_cast<std::size_t>(stride ? p : 0)];
  }
};

template <class T>
PortableScalars<T> make_scalars(Scalar kind, bool per_problem, std::int64_t count, std::mt19937_64& random) {
  PortableScalars<T> scalars;
  if (kind != Scalar::general) return scalars;
  scalars.stride = per_problem ? sizeof(T) : 0;
  // A kernel may mishandle zeros and ones among the values per problem.
  for (std::int64_t p = 0; p < (per_problem ? count : 1); ++p)
    scalars.values.push_back(per_problem ? number<T>(random, 1) : T(3));
  return scalars;
}

struct Variation {
  bool at_end = true;
  bool alpha_per_problem = false;
  bool beta_per_problem = false;
};

class PortableTest : public ::testing::Test {
 protected:
  // Calls f once for each instruction set; the library picks the one that is set.
  template <class F>
  void each_target(F&& f) {
    hwy::SetSupportedTargetsForTest(0);
    auto targets = hwy::SupportedAndGeneratedTargets();
    if (std::find(targets.begin(), targets.end(), HWY_STATIC_TARGET) == targets.end())
      targets.push_back(HWY_STATIC_TARGET);
    for (const std::int64_t target : targets) {
      SCOPED_TRACE(hwy::TargetName(target));
      hwy::SetSupportedTargetsForTest(target);
      hwy::GetChosenTarget().Update(target);
      f();
      if (HasFatalFailure()) break;
    }
    hwy::SetSupportedTargetsForTest(0);
    hwy::GetChosenTarget().DeInit();
  }

  template <class T>
  void check(const GemmProblem& q, const GemmSmallCpuConfig& config, const Variation& run) {
    SCOPED_TRACE(to_string(q) + " " + describe(config));
    StoredBatch<T> a{&q, q.a_rows(), q.a_cols(), q.lda, q.stride_a},
        b{&q, q.b_rows(), q.b_cols(), q.ldb, q.stride_b}, c{&q, q.m, q.n, q.ldc, q.stride_c};
    a.place(arena_a_, run.at_end);
    b.place(arena_b_, run.at_end);
    c.place(arena_c_, run.at_end);
    const auto fill = [&](auto, auto, auto, T& value) { value = number<T>(random_); };
    a.each([&](auto, auto, auto, T& value) { value = number<T>(random_); });
    b.each(fill);
    const auto alpha = make_scalars<T>(q.alpha, run.alpha_per_problem, q.batch_count, random_);
    const auto beta = make_scalars<T>(q.beta, run.beta_per_problem, q.batch_count, random_);
    c.each([&](auto p, auto, auto, T& value) {
      value = beta(q.beta, p) == T(0) ? nan_of<T>() : number<T>(random_);
    });

    std::vector<T> expected(c.data, c.data + c.count);
    c.each([&](auto p, auto i, auto j, T& value) {
      T sum{};
      for (std::int64_t x = 0; x < q.k; ++x) sum += element(a, q.op_a, p, i, x) * element(b, q.op_b, p, x, j);
      T& out = expected[static_cast<std::size_t>(c.at(p, i, j))];
      out = alpha(q.alpha, p) * sum;
      if (beta(q.beta, p) != T(0)) out += beta(q.beta, p) * value;
    });

    call(q, config, a, b, c, alpha, beta);
    for (std::size_t x = 0; x < expected.size(); ++x)
      ASSERT_TRUE(same(c.data[x], expected[x])) << "C element " << x << " of " << expected.size();
  }

  template <class T>
  void call(const GemmProblem& q, const GemmSmallCpuConfig& config, const StoredBatch<T>& a,
            const StoredBatch<T>& b, const StoredBatch<T>& c, const PortableScalars<T>& alpha,
            const PortableScalars<T>& beta) {
    const auto kernel = make_portable(q, config);
    std::vector<const T*> pointers_a, pointers_b, pointers_c;
    GemmSmallCpuArguments args{
        .a = a.data, .b = b.data, .c = c.data, .count = q.batch_count, .self = kernel.get()};
    args.alpha = alpha.values.data();
    args.alpha_stride = alpha.stride;
    args.beta = beta.values.data();
    args.beta_stride = beta.stride;
    if (q.layout == Layout::pointer) {
      for (std::int64_t p = 0; p < q.batch_count; ++p) {
        if (a.data != nullptr) pointers_a.push_back(a.data + a.at(p, 0, 0));
        if (b.data != nullptr) pointers_b.push_back(b.data + b.at(p, 0, 0));
        pointers_c.push_back(c.data + c.at(p, 0, 0));
      }
      args.a = a.data == nullptr ? nullptr : pointers_a.data();
      args.b = b.data == nullptr ? nullptr : pointers_b.data();
      args.c = pointers_c.data();
    } else {
      const std::int64_t block = is_interleaved(q.layout) ? q.block : 1;
      const auto bytes = [&](const StoredBatch<T>& x) {
        return (is_interleaved(q.layout) ? block * x.ld * x.cols : x.stride) *
               static_cast<std::int64_t>(sizeof(T));
      };
      args.stride_a = bytes(a);
      args.stride_b = bytes(b);
      args.stride_c = bytes(c);
    }
    kernel->function()(&args);
  }

  template <class T>
  static bool same(const T& x, const T& y) {
    return x == y || std::memcmp(&x, &y, sizeof(T)) == 0;
  }

  BatchArena arena_a_, arena_b_, arena_c_;
  std::mt19937_64 random_{20240601};
};

GemmProblem problem_of(DType dtype, Layout layout, Op op_a, Op op_b, std::int64_t m, std::int64_t n,
                       std::int64_t k) {
  GemmProblem q{.dtype = dtype, .op_a = op_a, .op_b = op_b, .m = m, .n = n, .k = k, .layout = layout};
  q.batch_count = layout == Layout::single ? 1 : 3;
  if (layout == Layout::interleaved) q.block = q.batch_count = 19;
  if (layout == Layout::block_interleaved) q.block = 8, q.batch_count = 21;
  return q;
}

// Makes leading dimensions and strides larger than needed by `pad`.
void lay_out(GemmProblem& q, std::int64_t pad) {
  q.lda = std::max<std::int64_t>(1, q.a_rows()) + pad;
  q.ldb = std::max<std::int64_t>(1, q.b_rows()) + pad;
  q.ldc = std::max<std::int64_t>(1, q.m) + pad;
  if (is_interleaved(q.layout)) return;
  q.stride_a = q.lda * q.a_cols() + pad;
  q.stride_b = q.ldb * q.b_cols() + pad;
  q.stride_c = q.ldc * q.n + pad;
}

constexpr Op all_ops[] = {Op::none, Op::trans, Op::conj_trans};
constexpr DType portable_types[] = {DType::f32, DType::f64, DType::c64, DType::c128};
constexpr Layout all_layouts[] = {Layout::single, Layout::strided, Layout::pointer, Layout::interleaved,
                                  Layout::block_interleaved};

class PortableLayoutTest : public PortableTest, public ::testing::WithParamInterface<Layout> {};

TEST_P(PortableLayoutTest, MatchesTheLoopAtEdgeSizes) {
  const bool slots = GetParam() == Layout::interleaved || GetParam() == Layout::block_interleaved;
  const std::vector<std::int64_t> edges =
      slots ? std::vector<std::int64_t>{1, 2, 3, 5, 9}
            : std::vector<std::int64_t>{1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 33, 64};
  constexpr std::int64_t columns[] = {1, 2, 4, 7, 9, 23}, depths[] = {1, 2, 3, 8, 17, 64};
  constexpr Scalar alphas[] = {Scalar::one, Scalar::general},
                   betas[] = {Scalar::zero, Scalar::one, Scalar::general};
  each_target([&] {
    std::int64_t turn = 0;
    for (const DType dtype : portable_types)
      for (const Op op_a : all_ops)
        for (const Op op_b : all_ops)
          for (const std::int64_t m : edges) {
            const std::int64_t x = turn++;
            GemmProblem q =
                problem_of(dtype, GetParam(), op_a, op_b, m, columns[x % 6], depths[x / 6 % (slots ? 5 : 6)]);
            lay_out(q, x % 3);
            q.alpha = alphas[x / 2 % 2];
            q.beta = betas[x % 3];
            const Variation run{
                .at_end = x % 4 != 0, .alpha_per_problem = x % 5 < 2, .beta_per_problem = x % 7 < 3};
            dispatch(dtype, [&]<class T>() { check<T>(q, portable_default(q), run); });
            if (HasFatalFailure()) return;
          }
  });
}

INSTANTIATE_TEST_SUITE_P(Layouts, PortableLayoutTest, ::testing::ValuesIn(all_layouts),
                         [](const auto& info) { return to_string(info.param); });

TEST_F(PortableTest, EveryConfigOfTheSpaceIsRight) {
  each_target([&] {
    for (const DType dtype : portable_types)
      for (const Layout layout : {Layout::strided, Layout::block_interleaved})
        for (const Op op : {Op::none, Op::conj_trans}) {
          GemmProblem q = problem_of(dtype, layout, op, op, layout == Layout::strided ? 37 : 7, 19, 6);
          lay_out(q, 0);
          q.beta = Scalar::one;
          const auto configs = portable_space(q).enumerate(portable_default(q));
          EXPECT_GE(configs.size(), 2u);
          for (const auto& config : configs) {
            dispatch(dtype, [&]<class T>() { check<T>(q, config, {}); });
            if (HasFatalFailure()) return;
          }
        }
  });
}

TEST_F(PortableTest, RandomProblems) {
  each_target([&] {
    for (int turn = 0; turn < 400; ++turn) {
      const auto draw = [&](int limit) {
        return static_cast<std::int64_t>(random_() % static_cast<unsigned>(limit));
      };
      const Layout layout = all_layouts[draw(5)];
      const bool slots = layout == Layout::interleaved || layout == Layout::block_interleaved;
      const int limit = slots ? 17 : 65;
      GemmProblem q = problem_of(portable_types[draw(4)], layout, all_ops[draw(3)], all_ops[draw(3)],
                                 draw(limit), draw(limit), draw(limit));
      lay_out(q, draw(4));
      q.alpha = Scalar(1 + draw(2));
      q.beta = Scalar(draw(3));
      if (slots && draw(2)) q.block = layout == Layout::interleaved ? q.batch_count : 1 + draw(20);
      const Variation run{draw(2) == 0, draw(2) == 0, draw(2) == 0};
      const auto configs = portable_space(q).enumerate(portable_default(q));
      dispatch(q.dtype, [&]<class T>() {
        check<T>(q, configs[static_cast<std::size_t>(draw(1000)) % configs.size()], run);
      });
      if (HasFatalFailure()) return;
    }
  });
}

TEST_F(PortableTest, BroadcastOperands) {
  each_target([&] {
    for (const DType dtype : portable_types) {
      GemmProblem q = problem_of(dtype, Layout::strided, Op::none, Op::trans, 9, 5, 7);
      lay_out(q, 1);
      q.stride_a = 0;
      dispatch(dtype, [&]<class T>() { check<T>(q, portable_default(q), {}); });
      q.stride_b = 0;
      dispatch(dtype, [&]<class T>() { check<T>(q, portable_default(q), {}); });
    }
  });
}

// If k = 0 or alpha = 0, A and B need not exist, and an infinite alpha does not turn an empty sum into NaN.
TEST_F(PortableTest, NothingToMultiplyReadsNothing) {
  each_target([&] {
    for (const Layout layout : {Layout::strided, Layout::pointer, Layout::block_interleaved})
      for (const bool zero_alpha : {false, true}) {
        GemmProblem q = problem_of(DType::f64, layout, Op::trans, Op::none, 5, 3, zero_alpha ? 4 : 0);
        lay_out(q, 1);
        q.alpha = q.beta = Scalar::general;
        StoredBatch<double> c{&q, q.m, q.n, q.ldc, q.stride_c};
        c.place(arena_c_, true);
        c.each(
            [](auto p, auto i, auto j, double& value) { value = static_cast<double>(p + 10 * i + 100 * j); });
        StoredBatch<double> none{&q, 0, 0, q.lda, q.stride_a};
        PortableScalars<double> alpha{{zero_alpha ? 0.0 : std::numeric_limits<double>::infinity()}, 0},
            beta{{2.0}, 0};
        call(q, portable_default(q), none, none, c, alpha, beta);
        c.each([](auto p, auto i, auto j, double& value) {
          EXPECT_EQ(value, 2.0 * static_cast<double>(p + 10 * i + 100 * j));
        });
      }
  });
}

// A slot with alpha = 0 keeps NaN of its A out of C, even if its neighbours in the vector multiply.
TEST_F(PortableTest, ZeroAlphaOfOneInterleavedProblem) {
  each_target([&] {
    GemmProblem q = problem_of(DType::c64, Layout::interleaved, Op::none, Op::none, 3, 3, 3);
    lay_out(q, 0);
    q.alpha = Scalar::general;
    using T = std::complex<float>;
    StoredBatch<T> a{&q, 3, 3, 3, 0}, b{&q, 3, 3, 3, 0}, c{&q, 3, 3, 3, 0};
    a.place(arena_a_, true);
    b.place(arena_b_, true);
    c.place(arena_c_, true);
    b.each([](auto, auto, auto, T& value) { value = T(1, 0); });
    a.each([](auto p, auto, auto, T& value) { value = p % 2 ? nan_of<T>() : T(0, 1); });
    PortableScalars<T> alpha{{}, sizeof(T)}, beta;
    for (std::int64_t p = 0; p < q.batch_count; ++p) alpha.values.push_back(T(p % 2 ? 0.f : 2.f, 0));
    call(q, portable_default(q), a, b, c, alpha, beta);
    c.each([](auto p, auto, auto, T& value) { EXPECT_EQ(value, p % 2 ? T(0, 0) : T(0, 6)) << p; });
  });
}

// A run of fewer problems than the block holds leaves the other slots, which may belong to another thread,
// alone.
TEST_F(PortableTest, RunsInsideOneInterleavedBlock) {
  each_target([&] {
    GemmProblem q = problem_of(DType::f32, Layout::interleaved, Op::none, Op::none, 2, 2, 2);
    lay_out(q, 0);
    std::vector<float> a(19 * 4, 1.f), b(19 * 4, 1.f), c(19 * 4, -1.f);
    const auto kernel = make_portable(q, portable_default(q));
    GemmSmallCpuArguments args{
        .a = a.data() + 4, .b = b.data() + 4, .c = c.data() + 4, .count = 5, .self = kernel.get()};
    kernel->function()(&args);
    for (int x = 0; x < 4; ++x)
      for (int slot = 0; slot < 19; ++slot)
        EXPECT_EQ(c[static_cast<std::size_t>(x * 19 + slot)], slot >= 4 && slot < 9 ? 2.f : -1.f) << slot;
  });
}

TEST_F(PortableTest, RefusesConfigsOutsideTheSpace) {
  const GemmProblem q = packed(problem_of(DType::f64, Layout::strided, Op::none, Op::none, 8, 8, 8));
  GemmSmallCpuConfig config = portable_default(q);
  EXPECT_TRUE(portable_space(q).contains(config));
  config.nr = 9;
  EXPECT_THROW(make_portable(q, config), Error);
  config.nr = portable_max_nr, config.mr = portable_max_mr;
  EXPECT_FALSE(portable_space(q).contains(config)) << "32 sums and their operands fit no register file";
}

}  // namespace
}  // namespace tilewright
