// Calls on small problems without a plan of their own: what decides about their kernel, when they get one of
// their own, and that nothing is read or generated before. That results are right is the designs' and the
// random calls' matter, which run prepared calls and others.
#include <gtest/gtest.h>

#include <complex>
#include <numeric>
#include <random>
#include <set>

#include "device/cpu.hpp"
#include "gemm/context_impl.hpp"
#include "gemm/cpu_small/calls.hpp"
#include "gemm/parallel.hpp"
#include "gemm/plan.hpp"
#include "gemm/run/reference.hpp"
#include "support/temp_folder.hpp"

namespace tilewright::testing {
namespace {

GemmProblem problem_of(std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t count = 1) {
  GemmProblem p;
  p.m = m, p.n = n, p.k = k;
  p.beta = Scalar::one;
  p.layout = count == 1 ? Layout::single : Layout::strided;
  p.batch_count = count;
  return packed(p);
}

class SmallCalls : public ::testing::Test {
 protected:
  static ContextOptions quiet() {
    ContextOptions options;
    options.notices = false;
    options.use_wisdom = false;
    return options;
  }
  void multiply(const GemmProblem& p) {
    if (p.layout == Layout::single)
      gemm<double>(context_, p.op_a, p.op_b, 1.0, {a_.data(), p.m, p.k, p.lda}, {b_.data(), p.k, p.n, p.ldb},
                   1.0, {c_.data(), p.m, p.n, p.ldc});
    else
      gemm_batched<double>(
          context_, p.op_a, p.op_b, 1.0,
          StridedBatch<const double>{{a_.data(), p.m, p.k, p.lda}, p.stride_a, p.batch_count},
          StridedBatch<const double>{{b_.data(), p.k, p.n, p.ldb}, p.stride_b, p.batch_count}, 1.0,
          StridedBatch<double>{{c_.data(), p.m, p.n, p.ldc}, p.stride_c, p.batch_count});
  }
  const GemmSmallCpuKernel* own(const GemmProblem& problem) {
    const BoundKernel* kernel = Access::impl(context_).small->recent(small_key(as_called(problem, {})));
    return kernel == nullptr ? nullptr : &kernel->kernel();
  }
  // Calls until the problem has a kernel of its own; how many it took.
  int call_until_own(const GemmProblem& p) {
    int calls = 0;
    for (; own(p) == nullptr && calls < 100000; ++calls) multiply(p);
    return calls;
  }

  Context context_{quiet()};
  std::vector<double> a_ = std::vector<double>(1 << 18, 1), b_ = a_, c_ = std::vector<double>(1 << 18);
};

TEST_F(SmallCalls, ManyShapesOnceAreServedWithoutKernelsOfTheirOwn) {
  for (int m = 1; m <= 64; m += 3)
    for (int n = 1; n <= 64; n += 7) {
      multiply(problem_of(m, n, 5));
      EXPECT_EQ(own(problem_of(m, n, 5)), nullptr);
    }
}

TEST_F(SmallCalls, AShapeThatComesAgainAndAgainGetsItsOwn) {
  const GemmProblem p = problem_of(4, 4, 4);
  const int calls = call_until_own(p);
  EXPECT_GT(calls, 100);
  EXPECT_LT(calls, 20000);
  EXPECT_EQ(own(p)->config().isa, Access::impl(context_).isa);
  multiply(p);
  for (int i = 0; i < 16; ++i) EXPECT_EQ(c_[std::size_t(i)], 4.0 * (calls + 1)) << "the same sums by both";
}

TEST_F(SmallCalls, ABatchThatIsWorthItGetsItsOwnSooner) {
  EXPECT_LT(call_until_own(problem_of(8, 8, 8, 1000)), 100);
}

TEST_F(SmallCalls, CountsAndStridesNeverSeenAreServedByTheSameKernel) {
  GemmProblem p = problem_of(8, 8, 8, 100);
  call_until_own(p);
  const GemmSmallCpuKernel* kernel = own(p);
  for (std::int64_t count = 101; count < 150; ++count) {
    p.batch_count = count;
    multiply(p);
    EXPECT_EQ(own(p), kernel);
  }
  p.stride_a += 3;
  call_until_own(p);
  kernel = own(p);
  p.stride_a += 2;
  EXPECT_EQ(own(p), kernel);
}

TEST_F(SmallCalls, WhatEntersTheCodeEntersTheKey) {
  const GemmProblem base = problem_of(8, 9, 10, 5);
  std::vector<GemmProblem> all(20, base);
  all[1].m = 7, all[2].n = 7, all[3].k = 7, all[4].lda = 20, all[5].ldb = 20, all[6].ldc = 20;
  all[7].op_a = Op::trans, all[8].op_b = Op::trans, all[9].op_a = Op::conj_trans, all[10].dtype = DType::f32;
  all[11].dtype = DType::c128, all[12].alpha = Scalar::general, all[13].beta = Scalar::zero;
  all[14].layout = Layout::pointer, all[15].residency = Residency::cold, all[16].stride_a = 0;
  all[17].stride_b = 0, all[18].stride_c += 1, all[19].stride_a += 1;
  std::set<std::tuple<std::uint64_t, std::int64_t, std::int64_t, std::int64_t>> keys;
  for (const GemmProblem& p : all) {
    const SmallKey key = small_key(p);
    EXPECT_TRUE(keys.insert({key.shape, key.lda, key.ldb, key.ldc}).second) << to_string(p);
  }
}

TEST_F(SmallCalls, ForgettingPlansForgetsTheirKernels) {
  const GemmProblem p = problem_of(4, 4, 4);
  call_until_own(p);
  context_.clear_plan_cache();
  EXPECT_EQ(own(p), nullptr);
  EXPECT_GT(call_until_own(p), 100);
}

TEST_F(SmallCalls, WhatIsPreparedIsThereFromTheFirstCallOn) {
  for (const GemmProblem& p : {problem_of(5, 6, 7), problem_of(5, 6, 7, 10)}) {
    prepare(context_, std::vector{p});
    multiply(p);
    ASSERT_NE(own(p), nullptr) << to_string(p);
    EXPECT_EQ(own(p)->config().isa, Access::impl(context_).isa);
  }
}

TEST_F(SmallCalls, ContextsShareNoKernels) {
  const GemmProblem p = problem_of(4, 4, 4);
  call_until_own(p);
  Context other(quiet());
  const SmallKey key = small_key(p);
  EXPECT_EQ(Access::impl(other).small->recent(key), nullptr);
  EXPECT_NE(Access::impl(context_).small->recent(key), nullptr);
}

TEST_F(SmallCalls, InPlaceIsRefusedAtEverySize) {
  Context context({.use_wisdom = false, .notices = false});
  for (const std::int64_t n : {2, 12, 70}) {
    std::vector<double> a(std::size_t(n * n), 1.0), b = a;
    const auto before = a;
    const MatrixView<double> c{a.data(), n, n, n};
    const MatrixView<const double> same{a.data(), n, n, n}, other{b.data(), n, n, n};
    for (int call = 0; call < 3; ++call) {
      EXPECT_THROW(gemm<double>(context, Op::none, Op::none, 1.0, same, other, 0.0, c), Error) << n;
      EXPECT_THROW(gemm<double>(context, Op::none, Op::none, 1.0, other, same, 0.0, c), Error) << n;
    }
    EXPECT_EQ(a, before);
  }
}

TEST(ShapeVariety, AsksWhetherManyShapesCameLately) {
  constexpr int window = 256;
  ShapeVariety variety;
  for (int i = 0; i < 2 * window; ++i) EXPECT_FALSE(variety.meets_many(unsigned(i % 12))) << "few";
  for (int i = 0; i < window; ++i) (void)variety.meets_many(unsigned(i % 40));
  EXPECT_TRUE(variety.meets_many(50));
  EXPECT_FALSE(variety.meets_many(50)) << "the same shape again is worth its own code";
  EXPECT_TRUE(variety.meets_many(51));
  for (int i = 0; i < 2 * window; ++i) (void)variety.meets_many(unsigned(i % 12));
  EXPECT_FALSE(variety.meets_many(17)) << "few again";
}

// Random shapes in a random order of every type, operation and factor, by single calls and as a list.
template <class T>
class AmongManyShapes : public ::testing::Test {
 protected:
  struct One {
    GemmItem<T> item;
    GemmProblem problem;
  };
  T number() {
    const auto real = [&] { return float(random_() % 7) - 3; };
    if constexpr (is_complex(dtype_of<T>))
      return T(real(), real());
    else
      return T(real());
  }
  std::int64_t size(std::int64_t most) { return 1 + std::int64_t(random_() % std::uint64_t(most)); }

  One draw() {
    static constexpr Op ops[] = {Op::none, Op::trans, Op::conj_trans};
    One one;
    GemmProblem& p = one.problem;
    p.dtype = dtype_of<T>;
    p.op_a = ops[random_() % 3], p.op_b = ops[random_() % 3];
    p.m = size(20), p.n = size(12), p.k = size(12);
    p.lda = p.a_rows() + size(3) - 1, p.ldb = p.b_rows() + size(3) - 1, p.ldc = p.m + size(3) - 1;
    const T factors[] = {T(0), T(1), T(2)};
    const T alpha = factors[1 + random_() % 2], beta = factors[random_() % 3];
    p.alpha = scalar_class(alpha), p.beta = scalar_class(beta);
    one.item = {p.op_a, p.op_b,    p.m,   p.n,  p.k,     alpha, a_.data(),
                p.lda,  b_.data(), p.ldb, beta, nullptr, p.ldc};
    return one;
  }

  std::mt19937 random_{3};
  std::vector<T> a_ = std::vector<T>(1000), b_ = a_;
};
using ShapeTypes = ::testing::Types<float, double, std::complex<float>, std::complex<double>>;
TYPED_TEST_SUITE(AmongManyShapes, ShapeTypes);

TYPED_TEST(AmongManyShapes, EveryProductIsRight) {
  using T = TypeParam;
  constexpr std::size_t count = 2000, of_c = 22 * 12;
  for (auto* values : {&this->a_, &this->b_})
    for (T& value : *values) value = this->number();
  std::vector<T> c(count * of_c), expected(count * of_c);
  for (T& value : expected) value = this->number();
  c = expected;
  const std::vector<T> before = c;
  std::vector<GemmItem<T>> items;
  for (std::size_t i = 0; i < count; ++i) {
    auto [item, p] = this->draw();
    gemm_reference(p, {item.a, item.b, &expected[i * of_c], &item.alpha, &item.beta});
    item.c = &c[i * of_c];
    items.push_back(item);
  }
  Context context({.use_wisdom = false, .notices = false});
  for (const GemmItem<T>& x : items) {
    const bool turned_a = x.op_a != Op::none, turned_b = x.op_b != Op::none;
    gemm<T>(context, x.op_a, x.op_b, x.alpha, {x.a, turned_a ? x.k : x.m, turned_a ? x.m : x.k, x.lda},
            {x.b, turned_b ? x.n : x.k, turned_b ? x.k : x.n, x.ldb}, x.beta, {x.c, x.m, x.n, x.ldc});
  }
  EXPECT_EQ(c, expected);
  for (const int threads : {1, 3}) {
    c = before;
    GemmOptions options;
    options.threads = threads;
    gemm_variable<T>(context, items, options);
    EXPECT_EQ(c, expected) << threads;
  }
}

TEST_F(SmallCalls, ARandomOrderOfManyShapesMakesNoKernels) {
  std::mt19937 random(1);
  const auto shape = [&] { return problem_of(1 + random() % 9, 1 + random() % 9, 1 + random() % 9); };
  for (int i = 0; i < 1000; ++i) multiply(shape());
  // Each of these would have got its own long since.
  std::vector<GemmProblem> known;
  for (int i = 0; i < 100; ++i) known.push_back(shape());
  std::size_t last = 0;
  for (int i = 0; i < 100000; ++i) {
    const std::size_t next = (last + 1 + random() % 99) % 100;
    multiply(known[next]);
    last = next;
  }
  EXPECT_EQ(std::count_if(known.begin(), known.end(), [&](const auto& p) { return own(p) != nullptr; }), 0);
}

TEST_F(SmallCalls, AnyLeadingDimensionIsServed) {
  constexpr std::int64_t far = std::int64_t(1) << 40;  // of one column, which takes no step
  GemmItem<double> item{Op::none, Op::none, 3, 1, 1, 2, a_.data(), far, b_.data(), far, 1, c_.data(), far};
  gemm_variable<double>(context_, std::vector{item});
  gemm<double>(context_, Op::none, Op::none, 2.0, {a_.data(), 3, 1, far}, {b_.data(), 1, 1, far}, 1.0,
               {c_.data(), 3, 1, far});
  EXPECT_EQ(std::vector(c_.begin(), c_.begin() + 4), (std::vector{4.0, 4.0, 4.0, 0.0}));
}

TEST(SmallCallsWisdom, TheFirstCallReadsNone) {
  const TempFolder folder;
  ContextOptions options;
  options.wisdom = folder.write("broken.jsonl", "{this is no JSON}\n");
  Context context(options);
  double a = 2, b = 3, c = 4;
  gemm<double>(context, Op::none, Op::none, 1.0, {&a, 1, 1, 1}, {&b, 1, 1, 1}, 1.0, {&c, 1, 1, 1});
  EXPECT_EQ(c, 10);
  EXPECT_THROW(plan(context, problem_of(1, 1, 1)), Error);
}

TEST(SmallUses, WhatIsAskedForAgainDisplacesWhatIsNot) {
  SmallUses uses;
  constexpr std::uint64_t one = 5, other = one + (std::uint64_t(1) << 40);  // of the same place
  EXPECT_EQ(uses.add(one, 1), 1);
  EXPECT_EQ(uses.add(one, 2), 3);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(uses.add(other, 1), 1);
  EXPECT_EQ(uses.add(other, 1), 2) << "it has the place now";
  EXPECT_EQ(uses.add(one, 1), 1);
  uses.refuse(one);
  EXPECT_LT(uses.add(one, 0.5f), 0);
  uses.keep(one);
  EXPECT_GE(uses.add(one, 0), 1);
  uses.clear();
  EXPECT_EQ(uses.add(one, 1), 1);
}

TEST(Pieces, HaveTheirWorkAndLoseNothing) {
  PieceCutter cutter(10);
  std::vector<std::int64_t> pieces;
  for (std::int64_t left = 100; left > 0; left -= pieces.back()) {
    ASSERT_TRUE(pieces.empty() || cutter.is_full());
    cutter.begin();
    pieces.push_back(cutter.take(left, 3));
  }
  EXPECT_EQ(pieces.front(), 4) << "the fewest with 10 s of work";
  EXPECT_EQ(std::accumulate(pieces.begin(), pieces.end(), std::int64_t(0)), 100);
  cutter.begin();
  EXPECT_EQ(cutter.take(5, 1), 5);
  EXPECT_FALSE(cutter.is_full());
  EXPECT_EQ(cutter.take(5, 100), 1) << "at least one";
  EXPECT_TRUE(cutter.is_full());
}

TEST(Pieces, SharesOfThreadsHaveEveryIndexOnce) {
  for (const std::int64_t total : {1, 5, 16, 17, 1000})
    for (const std::int64_t multiple : {1, 16})
      for (const std::int64_t threads : {1, 2, 7}) {
        std::int64_t next = 0;
        for (std::int64_t thread = 0; thread < threads; ++thread) {
          const IndexShare share = share_of_thread(total, multiple, thread, threads);
          if (share.count <= 0) continue;
          EXPECT_EQ(share.first, next);
          EXPECT_EQ(share.first % multiple, 0);
          next = share.first + share.count;
        }
        EXPECT_EQ(next, total) << multiple << ' ' << threads;
      }
}

TEST(Pieces, LittleWorkStaysOnOneThread) {
  EXPECT_EQ(threads_for(1e-6, 2), 1);
  EXPECT_EQ(threads_for(10e-6, 0), 1);
  EXPECT_EQ(threads_for(10e-6, 2), allowed_threads(2)) << "who asks gets them sooner";
  EXPECT_EQ(threads_for(1, 0), allowed_threads(0));
}

TEST(Bands, CoverTheLongSide) {
  for (const char* text : {"gemm:f64:nn:m=1000,n=3,k=4", "gemm:f64:tn:m=65,n=3,k=4",
                           "gemm:f32:nt:m=4,n=300,k=9", "gemm:f64:nn:m=4,n=127,k=9"}) {
    const GemmProblem p = packed(parse_problem(text));
    const Bands bands = bands_of(p);
    const std::int64_t size = size_bytes(p.dtype), behind = bands.count * bands.size;
    EXPECT_EQ(behind + bands.rest, bands.of_rows ? p.m : p.n);
    EXPECT_LE(bands.size, gemm_small_cpu_limit);
    EXPECT_EQ(bands.rest_at.c, behind * size * (bands.of_rows ? 1 : p.ldc)) << text;
    const GemmProblem batch = bands.batch(p);
    EXPECT_EQ(batch.batch_count, bands.count);
    EXPECT_EQ(batch.stride_c, bands.size * (bands.of_rows ? 1 : p.ldc));
    EXPECT_EQ(bands.of_rows ? batch.stride_b : batch.stride_a, 0) << "all bands share it";
  }
}

// Runs of equal shapes, whatever lies between them and however they are cut into pieces.
TEST_F(SmallCalls, RunsOfVariableBatchesAreRightOnSeveralThreads) {
  constexpr int count = 5000;
  std::vector<double> c(count * 16);
  std::vector<GemmItem<double>> items;
  for (int i = 0; i < count; ++i) {
    const int m = i / 100 % 3 + 2, n = i % 997 == 0 ? 3 : 4;
    items.push_back(
        {Op::none, Op::none, m, n, 2, 1, a_.data(), m, b_.data(), 2, 1, &c[std::size_t(i) * 16], m});
  }
  for (const int threads : {1, 2, 7}) {
    std::fill(c.begin(), c.end(), 1);
    GemmOptions options;
    options.threads = threads;
    gemm_variable<double>(context_, items, options);
    for (int i = 0; i < count; ++i) {
      const auto& x = items[std::size_t(i)];
      for (int e = 0; e < 16; ++e)
        ASSERT_EQ(c[std::size_t(i * 16 + e)], e < x.m * x.n ? 3 : 1)
            << i << ' ' << e << ", threads " << threads;
    }
  }
}

// Every way of cutting: bands of one product, bands of many, and what is left of them.
TEST_F(SmallCalls, BandsOfALongSideAreRight) {
  for (const char* shape :
       {"m=65,n=3,k=4", "m=129,n=5,k=64", "m=1000,n=2,k=7", "m=4,n=300,k=9", "m=64,n=65,k=1"})
    for (const char* ops : {"nn", "tn", "nt", "tt"})
      for (const char* batch : {"", ":strided:batch=3", ":strided:batch=40"})
        for (const int threads : {1, 3}) {
          const GemmProblem p = packed(parse_problem(fmt::format(
              "gemm{}:f64:{}:{}{}:beta=one", *batch == '\0' ? "" : "_batched", ops, shape, batch)));
          GemmOptions options;
          options.threads = threads;
          const GemmPlan made = plan(context_, p, options);
          ASSERT_EQ(Access::impl(made).candidate, "cpu_bands");
          const auto count = std::size_t(p.batch_count);
          std::vector<double> a(count * std::size_t(p.m * p.k)), b(count * std::size_t(p.k * p.n));
          for (std::size_t i = 0; i < a.size(); ++i) a[i] = double(i * 7 % 13) - 6;
          for (std::size_t i = 0; i < b.size(); ++i) b[i] = double(i * 5 % 11) - 5;
          std::vector<double> c(count * std::size_t(p.m * p.n), 2), expected = c;
          gemm_reference(p, {a.data(), b.data(), expected.data()});
          made.run<double>(1.0, a.data(), b.data(), 1.0, c.data());
          ASSERT_EQ(c, expected) << to_string(p) << ", threads " << threads;
          if (p.layout != Layout::single) continue;
          std::fill(c.begin(), c.end(), 2);
          gemm<double>(context_, p.op_a, p.op_b, 1.0, {a.data(), p.a_rows(), p.a_cols(), p.lda},
                       {b.data(), p.b_rows(), p.b_cols(), p.ldb}, 1.0, {c.data(), p.m, p.n, p.ldc}, options);
          ASSERT_EQ(c, expected) << "by a call of " << to_string(p) << ", threads " << threads;
        }
}

// What is decided for one shape may be the worst for its neighbour.
class NearShape : public ::testing::Test {
 protected:
  // The config for 7 rows where wisdom has this one for 8.
  GemmSmallCpuConfig carried(const GemmSmallCpuConfig& recorded) {
    const nlohmann::json line = {{"family", "gemm_small_cpu"},
                                 {"problem", to_string(residing(8))},
                                 {"device", cpu_info().device},
                                 {"config", to_json(recorded)},
                                 {"objective", "time"},
                                 {"verdict", "passed"},
                                 {"seconds", 1e-8},
                                 {"seconds_low", 1e-8},
                                 {"seconds_high", 1e-8},
                                 {"samples", 11},
                                 {"source_hash", "a3b83e9c3bb52e6f"},
                                 {"time", "2026-11-21T12:06:34Z"}};
    ContextOptions options;
    options.wisdom = folder_.write("a.jsonl", line.dump() + "\n");
    options.notices = false;
    const Context context(options);
    Context::Impl& impl = Access::impl(context);
    const auto made = make_plan(impl, residing(7), {}, true);
    EXPECT_EQ(made->known.match, WisdomMatch::near_shape);
    return from_json<GemmSmallCpuConfig>(made->runner->config());
  }
  // Far from every shape of shipped wisdom, which holds squares.
  static GemmProblem residing(std::int64_t m) {
    GemmProblem p = problem_of(m, 9, 11, 50);
    p.residency = Residency::l1;
    return p;
  }

  TempFolder folder_;
  const Isa isa_ = choose_isa("");
};

TEST_F(NearShape, WhatARecordDidNotDecideIsNotCarriedOver) {
  if (isa_ == Isa::portable) GTEST_SKIP() << "nothing is generated here";
  EXPECT_EQ(carried(gemm_small_cpu_default(residing(8), isa_)), gemm_small_cpu_default(residing(7), isa_));
}

// A load of C under a mask waits for a store just before that its mask overlaps: four times as long was seen.
TEST_F(NearShape, TheOrderOfColumnsIsAMatterOfTheTail) {
  if (isa_ == Isa::portable) GTEST_SKIP() << "nothing is generated here";
  const GemmSmallCpuConfig rule = gemm_small_cpu_default(residing(7), isa_);
  GemmSmallCpuConfig other = gemm_small_cpu_default(residing(8), isa_);
  for (const CLoad load : {CLoad::early, CLoad::late, CLoad::ahead})
    for (const Hold hold : {Hold::a, Hold::b, Hold::all_a}) {
      other.c_load = load, other.hold = hold;
      EXPECT_EQ(carried(other).c_load, rule.c_load);
      EXPECT_EQ(carried(other).hold, rule.hold);
    }
}

TEST_F(NearShape, WhatNeedsMoreWorkIsNotCarriedOver) {
  if (isa_ == Isa::portable) GTEST_SKIP() << "nothing is generated here";
  GemmSmallCpuConfig slow = gemm_small_cpu_default(residing(8), isa_);
  slow.nr = 1;
  EXPECT_EQ(carried(slow), gemm_small_cpu_default(residing(7), isa_));
}

TEST_F(NearShape, WhatItDidDecideIs) {
  if (isa_ == Isa::portable) GTEST_SKIP() << "nothing is generated here";
  GemmSmallCpuConfig other = gemm_small_cpu_default(residing(8), isa_);
  other.prefetch_bytes = 1024;
  GemmSmallCpuConfig expected = gemm_small_cpu_default(residing(7), isa_);
  expected.prefetch_bytes = 1024;
  EXPECT_EQ(carried(other), expected);
}

}  // namespace
}  // namespace tilewright::testing
