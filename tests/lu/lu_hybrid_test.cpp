// The blocked algorithm with its updates on simulated GPUs and on both: cpuLU, gpuLU and cpugpuLU of the
// paper with each of its selections.
#include "gemm/hybrid/simulated_context.hpp"
#include "lu/calls.hpp"
#include "lu/candidates.hpp"
#include "lu/updates.hpp"
#include "lu_cases.hpp"

namespace tilewright::testing {
namespace {

TEST(LuHybrid, EveryVersionAndSelectionIsRight) {
  const std::int64_t n = 150;
  const auto a = make_matrix<double>(LuKind::random, n, n, 1);
  std::vector<std::int64_t> expected;
  for (const int gpus : {1, 2})
    for (const Target target : {Target::cpu, Target::gpu, Target::hybrid})
      for (const LuSelect select : {LuSelect::panel, LuSelect::square, LuSelect::flops}) {
        SimulatedContext c(gpus);
        auto lu = a;
        std::vector<std::int64_t> pivots(n);
        LuOptions o = lu_options("", target, 48);
        o.select = select;
        const auto report = lu_factor(c.context, n, n, lu.data.data(), lu.ld, pivots.data(), o);
        const std::string what = "target " + std::to_string(int(target)) + " select " +
                                 std::to_string(int(select)) + " gpus " + std::to_string(gpus);
        EXPECT_EQ(report.candidate, "blocked") << what;
        EXPECT_EQ(report.nb, 48) << what;
        EXPECT_LT(factor_ratio(a, lu, pivots), 3) << what;
        if (expected.empty()) expected = pivots;
        EXPECT_EQ(pivots, expected) << what;
        EXPECT_EQ(c.simulated->opened > 0, target != Target::cpu) << what;
      }
}

// Look-ahead: where GPUs update alone, products are asked for on another thread, beside the next panel.
TEST(LuHybrid, PanelsAreFactoredBesideUpdates) {
  const std::int64_t n = 200, m = 230;
  for (const std::int64_t rows : {n, m}) {
    const auto a = make_matrix<double>(LuKind::random, rows, n, 1);
    std::vector<std::int64_t> expected(n), pivots(n);
    for (const Target target : {Target::cpu, Target::gpu}) {
      SimulatedContext c(1);
      auto lu = a;
      const auto report = lu_factor(c.context, rows, n, lu.data.data(), lu.ld, pivots.data(),
                                    lu_options("blocked", target, 40));
      EXPECT_EQ(report.info, 0);
      EXPECT_LT(factor_ratio(a, lu, pivots), 3) << int(target);
      if (target == Target::cpu) expected = pivots;
      EXPECT_EQ(pivots, expected);
      auto others = c.simulated->callers;
      others.erase(std::this_thread::get_id());
      EXPECT_EQ(others.empty(), target == Target::cpu);
    }
  }
}

// A GPU that is lost while the next panel is factored: an error, or the CPU takes the product over.
TEST(LuHybrid, GpusThatFailBesideAPanel) {
  const std::int64_t n = 200;
  const auto a = make_matrix<double>(LuKind::random, n, n, 1);
  int failed = 0;
  for (const int operations : {1, 5, 15, 25, 40})
    for (const OnDeviceFailure then : {OnDeviceFailure::error, OnDeviceFailure::redo}) {
      SimulatedFaults faults;
      faults.lost_after = operations;
      SimulatedContext c(1, {faults});
      LuOptions o = lu_options("blocked", Target::gpu, 40);
      o.on_device_failure = then;
      auto lu = a;
      std::vector<std::int64_t> pivots(n);
      try {
        lu_factor(c.context, n, n, lu.data.data(), lu.ld, pivots.data(), o);
        EXPECT_LT(factor_ratio(a, lu, pivots), 3) << operations;
      } catch (const Error& error) {
        ++failed;
        EXPECT_EQ(error.code(), ErrorCode::device_lost) << error.what();
        EXPECT_EQ(then, OnDeviceFailure::error);
      }
    }
  EXPECT_GE(failed, 3);
}

TEST(LuHybrid, SolvesWithGpus) {
  const std::int64_t n = 600;  // beyond the triangles that the CPU takes whole
  SimulatedContext c(1);
  const LuOptions o = lu_options("", Target::gpu);
  const auto a = make_matrix<double>(LuKind::random, n, n), b = make_matrix<double>(LuKind::random, n, 2);
  auto lu = a, x = b;
  std::vector<std::int64_t> pivots(n);
  lu_factor(c.context, n, n, lu.data.data(), lu.ld, pivots.data(), lu_options("", Target::cpu));
  lu_solve(c.context, Op::none, n, 2, lu.data.data(), lu.ld, pivots.data(), x.data.data(), x.ld, o);
  EXPECT_LT(solve_ratio(a, Op::none, x, b), 30);
  EXPECT_GT(c.simulated->opened, 0);
}

TEST(LuHybrid, SharesAreWithinBoundsAndOfTheSelection) {
  SimulatedContext c(1);
  const LuProblem problem{DType::f64, 4000, 4000, 4000};
  LuOptions o = lu_options("", Target::hybrid);
  const auto share = [&](LuSelect select, std::int64_t m) {
    o.select = select;
    return selected_share({c.context, problem, o}, m, m, 128);
  };
  EXPECT_FALSE(share(LuSelect::panel, 3000));
  for (const LuSelect select : {LuSelect::square, LuSelect::flops})
    for (const std::int64_t m : {1, 100, 3000}) {
      ASSERT_TRUE(share(select, m));
      EXPECT_GE(*share(select, m), 0);
      EXPECT_LE(*share(select, m), 1);
    }
  EXPECT_EQ(*share(LuSelect::flops, 10), *share(LuSelect::flops, 3000)) << "average speeds know no size";
}

TEST(LuHybrid, SharesAreSearchedForWhereTheyAreHeldAgainstTheBest) {
  SimulatedContext c(1);
  const std::int64_t n = 90;
  const auto a = make_matrix<double>(LuKind::random, n, n, 1);
  const LuProblem problem{DType::f64, n, n, a.ld};
  for (const Target target : {Target::cpu, Target::gpu, Target::automatic, Target::hybrid}) {
    const LuOptions o = lu_options("blocked", target, 30);
    const LuRequest request{c.context, problem, o, SplitRule::exhaustive};
    const bool shares = target == Target::hybrid;
    EXPECT_EQ(update_options(request, 60, 60, 30).split, shares ? SplitRule::exhaustive : SplitRule::model)
        << int(target);
    auto lu = a;
    std::vector<std::int64_t> pivots(n);
    choose_lu(request).made.runner->factor(lu.data.data(), pivots.data());
    EXPECT_LT(factor_ratio(a, lu, pivots), 3) << int(target);
  }
}

TEST(LuHybrid, WithoutGpusTheTargetIsRefusedBeforeAnythingIsWritten) {
  SimulatedContext c(0);
  const auto a = make_matrix<double>(LuKind::random, 20, 20);
  auto lu = a;
  std::vector<std::int64_t> pivots(20, -1);
  for (const Target target : {Target::gpu, Target::hybrid}) try {
      lu_factor(c.context, 20, 20, lu.data.data(), lu.ld, pivots.data(), lu_options("", target));
      ADD_FAILURE() << "nothing was thrown";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::unsupported) << error.what();
    }
  EXPECT_EQ(lu.data, a.data);
  EXPECT_EQ(pivots, std::vector<std::int64_t>(20, -1));
}

TEST(LuHybrid, ExplainsWhoAndWhy) {
  SimulatedContext c(1);
  const auto text = [&](Target target) {
    return explain_lu(c.context, {DType::f64, 500, 500, 500}, lu_options("", target));
  };
  EXPECT_NE(text(Target::hybrid).find("lapack: not taken; runs on the CPU only, but target = hybrid"),
            std::string::npos)
      << text(Target::hybrid);
  EXPECT_NE(text(Target::hybrid).find("blocked: taken; panels of nb="), std::string::npos);
  EXPECT_NE(text(Target::cpu).find(": taken"), std::string::npos) << text(Target::cpu);
}

}  // namespace
}  // namespace tilewright::testing
