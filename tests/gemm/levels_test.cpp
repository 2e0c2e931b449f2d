// Strided batches of several levels: results against the oracle, the same bits at every thread count, what
// joining levels keeps, and what is refused.
#include <gtest/gtest.h>

#include <random>

#include "core/dispatch.hpp"
#include "core/product/faults.hpp"
#include "support/call.hpp"
#include "support/failures.hpp"
#include "support/isas.hpp"

namespace tilewright::testing {
namespace {

struct LevelDraw {
  std::mt19937_64 random{20261127};

  std::int64_t below(std::int64_t limit) {
    return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(limit));
  }
  Choices choices(std::int64_t longest) {
    Choices x;
    x.dtype = cases::dtypes[std::size_t(below(4))];
    x.op_a = cases::ops[std::size_t(below(3))], x.op_b = cases::ops[std::size_t(below(3))];
    x.size = {1 + below(longest), 1 + below(longest), 1 + below(longest)};
    x.ld_padding = below(2) * below(6), x.stride_padding = below(2) * below(9);
    x.batch_count = 1 + below(6), x.outer_count = 1 + below(5), x.outermost_count = 1 + below(4);
    x.level_order = static_cast<int>(below(6));
    x.shared_a = static_cast<unsigned>(below(8) * below(2));
    x.shared_b = static_cast<unsigned>(below(8) * below(2));
    x.alpha = scalar_choices[std::size_t(below(5))], x.beta = scalar_choices[std::size_t(below(5))];
    x.data = below(2) == 0 ? Data::exact : Data::random;
    x.seed = random();
    return x;
  }
};

TEST(Levels, RandomOnesAreRightByEveryInstructionSet) {
  LevelDraw draw;
  Failures failures;
  for (const Isa isa : runnable_isas()) {
    Context context({.cpu = to_string(isa), .use_wisdom = false});
    for (int i = 0; i < 150; ++i) {
      Call call = make_call(draw.choices(12));
      call.options.threads = 1 + i % 2;
      call.through_plan = i % 3 == 0;
      call.prepared = i % 5 == 0;
      failures.note(to_string(isa) + ": " + to_string(call), run_and_check(context, call));
    }
  }
  EXPECT_GT(failures.case_count(), 0u);
}

// Bands, large products and the reference, by name.
TEST(Levels, EveryWayOnTheHostTakesThem) {
  Context context({.use_wisdom = false});
  LevelDraw draw;
  Failures failures;
  for (const auto& [candidate, size] : {std::pair<const char*, cases::Size>{"reference", {7, 5, 6}},
                                        {"cpu_bands", {81, 9, 9}},
                                        {"cpu_bands", {5, 70, 8}},
                                        {"host_blas", {70, 66, 67}}})
    for (int i = 0; i < 12; ++i) {
      Choices x = draw.choices(4);
      x.size = size;
      if (std::string(candidate) == "cpu_bands")
        x.alpha = ScalarChoice::one, x.beta = i % 2 == 0 ? ScalarChoice::one : ScalarChoice::zero;
      if (std::string(candidate) == "host_blas" && x.alpha == ScalarChoice::zero)
        x.alpha = ScalarChoice::general;
      Call call = make_call(x);
      call.options.candidate = candidate;
      call.options.threads = 1 + i % 2;
      const std::string wrong = run_and_check(context, call);
      if (wrong.find("CBLAS") != std::string::npos) continue;  // there is none
      failures.note(to_string(call), wrong);
    }
  EXPECT_GT(failures.case_count(), 24u);
}

TEST(Levels, ThreadsGiveTheSameBits) {
  Context context({.use_wisdom = false});
  LevelDraw draw;
  for (int i = 0; i < 40; ++i) {
    Choices x = draw.choices(16);
    x.data = Data::random;
    x.batch_count = 1 + draw.below(40), x.outer_count = 1 + draw.below(40);
    std::vector<std::byte> first;
    for (const int threads : {1, 2, 3, 7}) {
      const Case made = make_case(x);
      dispatch(made.problem.dtype, [&]<class T>() {
        Batch<T> batch(made);
        GemmOptions options;
        options.threads = threads;
        const GemmPlan all = plan(context, made.problem, options);
        const auto scalar = [](const T* values, T value) {
          return values != nullptr ? BatchScalar<T>(values) : BatchScalar<T>(value);
        };
        all.run<T>(scalar(batch.alphas(), batch.alpha(0)), batch.a().base(), batch.b().base(),
                   scalar(batch.betas(), batch.beta(0)), batch.c().base());
        if (threads == 1) first = batch.snapshot();
        EXPECT_EQ(batch.snapshot(), first) << to_string(made) << " by " << threads;
      });
    }
  }
}

GemmProblem level_problem(const std::string& rest) {
  return parse_problem("gemm_batched:f64:nn:m=4,n=3,k=2:strided:" + rest);
}

TEST(Levels, ThatGoOnWhereOthersEndAreJoined) {
  EXPECT_EQ(with_joined_levels(level_problem("batch=30:outer=5:outermost=2")), level_problem("batch=30"));
  EXPECT_EQ(with_joined_levels(level_problem("batch=30:outer=30:outer_a=100:outer_b=8:outer_c=99")),
            level_problem("batch=30:stride_a=100:stride_b=8:stride_c=99"));
  const GemmProblem apart = level_problem("batch=30:outer=5:outer_a=7");
  EXPECT_EQ(with_joined_levels(apart), apart);
  EXPECT_EQ(with_joined_levels(level_problem("batch=30:outermost=5:outermost_a=7")), apart);
  EXPECT_EQ(with_joined_levels(level_problem("batch=30:outer=5:outer_a=7:outermost=2")),
            level_problem("batch=30:outer=10:outer_a=7:outer_b=18:outer_c=36"));
  EXPECT_EQ(with_joined_levels(level_problem("batch=0:outer=5")).outer_count, 1);
}

TEST(Levels, WorkAndBytesCountWhatLiesInMemory) {
  const GemmProblem p = level_problem("batch=30:outer=5:stride_a=0:outer_b=0:outer_c=1000");
  EXPECT_EQ(flops(p), 30 * 2 * 4 * 3 * 2);
  // One A for each of 5 parts lies at the usual distance of none: all of it is one matrix; B has 6.
  EXPECT_EQ(bytes(p), 8.0 * (1 * 4 * 2 + 6 * 2 * 3 + 30 * 4 * 3));
  EXPECT_EQ(footprint_bytes(p), 8.0 * (8 + (5 * 6 + 6) + (5 * 12 + 4 * 1000 + 12)));
}

TEST(Levels, OfCMayBeBandsOfRowsAndNotOverlap) {
  EXPECT_FALSE(find_fault(level_problem("batch=30:outer=5:outer_c=12:stride_c=60")));
  EXPECT_FALSE(find_fault(level_problem("batch=30:outer=5:ldc=40:stride_c=4:outer_c=200")));
  EXPECT_FALSE(find_fault(level_problem("batch=6:outer=2:ldc=12:stride_c=4:outer_c=36")));
  const auto overlap = find_fault(level_problem("batch=30:outer=5:stride_c=11:outer_c=1000"));
  ASSERT_TRUE(overlap);
  EXPECT_STREQ(overlap->argument, "stride_c");
  GemmProblem pointers = level_problem("batch=30");
  pointers.layout = Layout::pointer;
  pointers.outer_count = 5;
  const auto fault = find_fault(pointers);
  ASSERT_TRUE(fault);
  EXPECT_STREQ(fault->argument, "outer_count");
}

TEST(Levels, PlansAreFoundAgainWhateverTheSpelling) {
  Context context({.use_wisdom = false});
  const GemmPlan joined = plan(context, level_problem("batch=30:outer=5:outermost=2"));
  EXPECT_EQ(to_string(without_levels(joined.problem())), to_string(joined.problem()));
  const std::string text = explain(context, level_problem("batch=30:outer=5:outer_a=7"));
  EXPECT_NE(text.find("outer=5:outer_a=7"), std::string::npos) << text;
}

}  // namespace
}  // namespace tilewright::testing
