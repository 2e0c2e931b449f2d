// Tuning of the conversion rule: the blocks it tries, that what it measures is what explain reads, that a log
// is gone on from, and what is refused. How good the chosen block is, no test can say.
#include <gtest/gtest.h>

#include "gemm/kept.hpp"
#include "kernel/jit/x86.hpp"
#include "support/cases.hpp"
#include "support/temp_folder.hpp"
#include "tune/family/family.hpp"
#include "tune/tuner.hpp"

namespace tilewright {
namespace {

GemmProblem converted_problem(DType dtype, Layout layout, Scalar beta) {
  GemmProblem problem = cases::strided(dtype, {5, 3, 4}, beta, 1);
  problem.layout = layout;
  if (layout != Layout::strided) problem.stride_a = problem.stride_b = problem.stride_c = 0;
  problem.residency = Residency::l1;
  return packed(problem);
}

class LayoutTunerTest : public ::testing::Test {
 protected:
  LayoutTunerTest() { options_.budget_s = 0.2; }
  TuneResult tune(const GemmProblem& problem) {
    return tilewright::tune(*product_operation(problem, machine_, {.families = {&layout_family()}}),
                            options_);
  }

  TuneOptions options_;
  TuneMachine machine_{jit_available(Isa::avx512) ? Isa::avx512
                       : jit_available(Isa::avx2) ? Isa::avx2
                                                  : Isa::portable};
};

TEST_F(LayoutTunerTest, TheSpaceHoldsTheDefaultAndSaysWhyNot) {
  for (const DType dtype : cases::dtypes) {
    const auto space = layout_space(dtype);
    EXPECT_TRUE(space.contains(layout_default(dtype))) << to_string(dtype);
    EXPECT_GE(space.enumerate().size(), 4u);
  }
  EXPECT_NE(layout_space(DType::f32).explain({4}).at(0).find("32 bytes"), std::string::npos);
  EXPECT_NE(layout_space(DType::c128).explain({64}).at(0).find("eight"), std::string::npos);
}

TEST_F(LayoutTunerTest, MeasuresEveryPartForEveryTypeAndLayout) {
  for (const auto& [dtype, layout, beta] : {std::tuple{DType::f64, Layout::strided, Scalar::one},
                                            {DType::c64, Layout::pointer, Scalar::zero},
                                            {DType::f32, Layout::pointer, Scalar::general}}) {
    const GemmProblem problem = converted_problem(dtype, layout, beta);
    const TuneResult result = tune(problem);
    EXPECT_TRUE(result.complete);
    EXPECT_EQ(result.wrong, 0) << result.first_wrong;
    const auto config = from_json<LayoutConfig>(result.config);
    const auto costs = from_json<LayoutCosts>(result.findings.at("costs"));
    EXPECT_TRUE(layout_space(dtype).contains(config)) << config.block;
    EXPECT_EQ(parse_problem(result.subject).batch_count % config.block, 0);
    EXPECT_EQ(costs.block, config.block);
    EXPECT_EQ(costs.residency, Residency::l1);
    for (const double seconds :
         {costs.convert_in_s, costs.convert_out_s, costs.direct_s, costs.interleaved_s})
      EXPECT_GT(seconds, 0);
    EXPECT_EQ(nearest_costs({&costs, 1}, problem), &costs);
  }
}

TEST_F(LayoutTunerTest, WhatIsKeptReadsBack) {
  const TempFolder folder;
  const auto record = records_of(tune(converted_problem(DType::f64, Layout::strided, Scalar::one))).front();
  const auto costs = from_json<LayoutCosts>(record.extra.at("costs"));
  save_layout_costs(folder / "w.sqlite", record.device, costs);
  EXPECT_EQ(load_layout_costs(folder / "w.sqlite", record.device), std::vector{costs});
}

TEST_F(LayoutTunerTest, ALogIsGoneOnFrom) {
  const TempFolder folder;
  const GemmProblem problem = converted_problem(DType::f64, Layout::strided, Scalar::zero);
  const nlohmann::json run = {{"family", "layout"}};
  SweepLog first(folder / "sweep.jsonl", run, false);
  options_.log = &first;
  int turns = 0;
  options_.stop = [&] { return ++turns > 10; };  // fewer than one round has
  EXPECT_FALSE(tune(problem).complete);
  first = {};
  SweepLog second(folder / "sweep.jsonl", run, true);
  EXPECT_EQ(second.kept(), 10);
  options_.log = &second;
  options_.stop = {};
  const TuneResult result = tune(problem);
  EXPECT_TRUE(result.complete);
  EXPECT_FALSE(second.take(result.subject, "screen", "{}").has_value()) << "measured again";
}

TEST_F(LayoutTunerTest, RefusesWhatCannotBeConverted) {
  GemmProblem problem = converted_problem(DType::f64, Layout::block_interleaved, Scalar::one);
  problem.block = problem.batch_count = 8;
  EXPECT_THROW(tune(packed(problem)), Error);
  problem = converted_problem(DType::f64, Layout::strided, Scalar::one);
  problem.residency = Residency::automatic;
  EXPECT_THROW(tune(problem), Error);
  EXPECT_THROW(tune(cases::strided(DType::f64, {65, 4, 4}, Scalar::one, 1)), Error);
}

}  // namespace
}  // namespace tilewright
