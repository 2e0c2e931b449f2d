// The methods that `bench lu` tries for a matrix, its contest, and the GPU that it simulates.
#include <gtest/gtest.h>

#include "bench/lu/contest.hpp"
#include "bench_flags.hpp"
#include "lu/calls.hpp"

namespace tilewright {
namespace {

TEST(BenchLu, PlansWhatIsTriedOfAMatrixToFactor) {
  cli::BenchFlags flags;
  flags.family = "lu";
  flags.sizes = "100:300:100,50x70";
  flags.target = "auto,cpu";
  flags.own["--nb"] = "auto,16:48:16,exhaustive";
  flags.own["--selects"] = "square";
  flags.hybrid.gpus = "0,2";
  const bench::Plan plan = cli::plan_bench(flags);
  ASSERT_EQ(plan.cases.size(), 4u);
  EXPECT_EQ(lu_problem(plan.cases[3]), (LuProblem{DType::f64, 50, 70, 50}));
  EXPECT_EQ(problem_text(plan.cases[3]), "lu:f64:m=50,n=70");
  EXPECT_EQ(plan.ways, (std::vector<std::string>{"automatic", "cpu"}));
  EXPECT_EQ(plan.memories, (std::vector<std::string>{"pageable", "pinned"}));
  EXPECT_EQ(lu_trials(plan).panels, (std::vector<std::int64_t>{0, 16, 32, 48}));
  EXPECT_TRUE(lu_trials(plan).exhaustive);
  EXPECT_EQ(lu_trials(plan).selects, std::vector<LuSelect>{LuSelect::square});
  EXPECT_EQ(lu_trials(plan).options.gpus, (std::vector<int>{0, 2}));
}

TEST(BenchLu, WaysAreVersionsBySelectionsByPanels) {
  cli::BenchFlags flags;
  flags.family = "lu";
  flags.sizes = "60,400";
  flags.threads = "3";
  flags.own["--nb"] = "auto,100";
  const bench::Plan plan = cli::plan_bench(flags);
  std::vector<std::string> lines;
  const auto variants = lu_variants_of(plan, plan.cases[1], true, lines);
  ASSERT_EQ(variants.size(), 14u);
  EXPECT_EQ(lines, std::vector<std::string>());
  EXPECT_EQ(variants[1].name, "cpu");
  EXPECT_EQ(variants[1].options.candidate, "blocked");
  EXPECT_EQ(variants[4].name, "hybrid square");
  EXPECT_EQ(variants[4].options.select, LuSelect::square);
  EXPECT_EQ(variants[6].options.candidate, "streamed");
  EXPECT_EQ(variants[12].name, "hybrid flops nb=100");
  EXPECT_EQ(variants[12].options.nb, 100);
  EXPECT_EQ(variants[12].options.threads, 3);
  EXPECT_EQ(lu_variants_of(plan, plan.cases[1], false, lines).size(), 4u) << "automatic and cpu";
  EXPECT_EQ(lu_variants_of(plan, plan.cases[0], true, lines).size(), 7u) << "100 columns are more than 60";
  ASSERT_EQ(lines.size(), 1u);
  const auto searched = lu_searched_variants(plan, plan.cases[1], true);
  ASSERT_EQ(searched.size(), 1u);
  EXPECT_EQ(searched[0].split, SplitRule::exhaustive);
  EXPECT_EQ(searched[0].options.target, Target::hybrid);
  EXPECT_EQ(lu_searched_variants(plan, plan.cases[0], false).size(), 0u);
}

// A contender with a wrong result does not take part; if it is tilewright's, the job ends.
TEST(BenchLu, WrongFactorsAndPivotsAreSeenBeforeAnythingIsTimed) {
  cli::BenchFlags flags;
  flags.family = "lu";
  flags.sizes = "40x30";
  const bench::Plan plan = cli::plan_bench(flags);
  Context context;
  const bench::Case& c = plan.cases[0];
  std::vector<std::string> none;
  const bench::LuVariant variant = lu_variants_of(plan, c, false, none)[1];
  bench::LuContest contest(c, "pageable");
  const auto enter = [&](bench::Role role, const std::string& name, auto spoil) {
    bench::Contender one{.role = role, .impl = name};
    contest.enter(std::move(one), variant, [&context, &c, variant, spoil](void* a, std::int64_t* pivots) {
      const LuReport report = run_lu_variant(context, lu_problem(c), variant, a, pivots);
      spoil(static_cast<double*>(a), pivots);
      return report;
    });
  };
  const auto nothing = [](double*, std::int64_t*) {};
  const auto factor = [](double* a, std::int64_t*) { a[3] += 0.1; };
  const auto pivot = [](double*, std::int64_t* pivots) { pivots[2] = 41; };
  using bench::Role;
  enter(Role::tested, "right", nothing);
  enter(Role::peer, "wrong factor", factor);
  enter(Role::peer, "wrong pivot", pivot);
  EXPECT_THROW(enter(Role::tested, "wrong factor", factor), Error);
  EXPECT_THROW(enter(Role::tested, "wrong pivot", pivot), Error);
  ASSERT_EQ(contest.all().size(), 1u);
  EXPECT_EQ(contest.lines.size(), 4u);
  contest.hold(2);
  EXPECT_EQ(contest.all()[0].rounds.size(), 2u);
  const bench::LuRecord& record = contest.record(contest.all()[0]);
  EXPECT_EQ(record.reports.size(), 2u) << "the checked run is not told";
  EXPECT_EQ(record.other_pivots, 0);
  EXPECT_GT(record.median().panel_s, 0);
}

TEST(BenchLu, ASimulatedGpuTakesTheTimeOfItsModelOrComputes) {
  const LuProblem problem{DType::f64, 60, 60, 60};
  bench::LuVariant variant{"gpu", {}};
  variant.options.target = Target::gpu, variant.options.nb = 20;
  const bench::SimulatedGpu slow{0.02, 1};
  std::vector<double> a(3600), lu;
  fill(a.data(), 3600, DType::f64, Data::uniform, 1);
  std::vector<std::int64_t> pivots(60), expected(60);
  const auto factor = [&](Context& context) {
    lu = a;
    return run_lu_variant(context, problem, variant, lu.data(), pivots.data());
  };
  Context plain, computing, paced;
  lu = a;
  lu_factor(plain, 60, 60, lu.data(), 60, expected.data());
  simulate_gpu(computing, slow, false);
  EXPECT_EQ(factor(computing).candidate, "blocked");
  EXPECT_EQ(pivots, expected);
  simulate_gpu(paced, slow, true);
  const double updates = 2 * (40 * 40 * 20 + 20 * 20 * 20);
  EXPECT_GE(factor(paced).update_s, updates / slow.speed(DType::f64));
  EXPECT_NE(explain_lu(paced, problem, variant.options).find("0.02 GFLOP/s"), std::string::npos)
      << explain_lu(paced, problem, variant.options);
}

}  // namespace
}  // namespace tilewright
