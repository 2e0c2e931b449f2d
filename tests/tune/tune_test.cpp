// Tuning: wrong candidates are seen before they are timed, the search stays within the space and its --set
// choices, and what it writes is wisdom that the library reads back. How good the winner is, no test can say.
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>

#include "kernel/jit/x86.hpp"
#include "support/cases.hpp"
#include "support/fake_meter.hpp"
#include "support/temp_folder.hpp"
#include "tune/family/family.hpp"
#include "tune/gate.hpp"
#include "tune/kernel_timer.hpp"
#include "tune/tuner.hpp"
#include "wisdom/wisdom.hpp"

namespace tilewright {
namespace {

GemmProblem problem_of(DType dtype, Layout layout, Scalar beta) {
  GemmProblem problem = cases::strided(dtype, {5, 3, 4}, beta, 1);
  problem.layout = layout;
  problem.stride_a = problem.stride_b = problem.stride_c = 0;
  problem.block = layout == Layout::block_interleaved ? 8 : 0;
  problem.batch_count = layout == Layout::block_interleaved ? 8 : layout == Layout::interleaved ? 7 : 1;
  problem.residency = Residency::l1;
  return packed(problem);
}

// A right kernel with a flaw put over it.
class Flawed : public GemmSmallCpuKernel {
 public:
  using Flaw = void (*)(const GemmSmallCpuArguments&);
  Flawed(const GemmProblem& problem, Flaw flaw)
      : right_(make_gemm_small_cpu(problem, gemm_small_cpu_default(problem, Isa::portable))), flaw_(flaw) {
    function_ = [](const GemmSmallCpuArguments* args) {
      const auto& self = static_cast<const Flawed&>(*args->self);
      GemmSmallCpuArguments inner = *args;
      inner.self = self.right_.get();
      self.right_->function()(&inner);
      self.flaw_(*args);
    };
  }

 private:
  std::shared_ptr<const GemmSmallCpuKernel> right_;
  Flaw flaw_;
};

TEST(Gate, AcceptsTheDefaultOfEveryLayout) {
  for (const DType dtype : cases::dtypes)
    for (const Layout layout :
         {Layout::single, Layout::strided, Layout::pointer, Layout::interleaved, Layout::block_interleaved})
      for (const Scalar beta : {Scalar::zero, Scalar::one, Scalar::general}) {
        const GemmProblem problem = problem_of(dtype, layout, beta);
        const auto kernel = make_gemm_small_cpu(problem, gemm_small_cpu_default(problem, Isa::portable));
        EXPECT_EQ(Gate(problem, Isa::portable).run(*kernel), "") << to_string(problem);
      }
}

TEST(Gate, SeesFlaws) {
  const GemmProblem problem = problem_of(DType::f64, Layout::strided, Scalar::zero);
  const Gate gate(problem, Isa::portable);
  const auto verdict = [&](Flawed::Flaw flaw) { return gate.run(Flawed(problem, flaw)); };
  EXPECT_EQ(verdict([](const GemmSmallCpuArguments&) {}), "");
  EXPECT_NE(verdict([](const GemmSmallCpuArguments& a) { static_cast<double*>(a.c)[0] += 1e-12; }), "");
  EXPECT_NE(verdict([](const GemmSmallCpuArguments& a) { static_cast<double*>(a.c)[15 * a.count] = 0; }), "")
      << "behind C";
  EXPECT_NE(verdict([](const GemmSmallCpuArguments& a) { static_cast<double*>(a.c)[-1] = 0; }), "")
      << "before C";
  EXPECT_NE(verdict([](const GemmSmallCpuArguments& a) {
              if (a.count == 7) static_cast<double*>(a.c)[15 * 7 - 1] = 0;
            }),
            "")
      << "the last problem of an odd count";
  EXPECT_NE(verdict([](const GemmSmallCpuArguments& a) {
              static_cast<double*>(a.c)[3] = std::numeric_limits<double>::quiet_NaN();
            }),
            "");
}

TEST(Gate, TriesPaddedColumnsOfTheShapeItself) {
  // Right where columns follow each other without gaps, and wrong where they do not.
  const GemmProblem problem = problem_of(DType::f64, Layout::strided, Scalar::zero);
  GemmProblem padded = problem;
  padded.lda += 3, padded.ldb += 1, padded.ldc += 2;
  padded.stride_a = padded.stride_b = padded.stride_c = 0;
  padded = packed(padded);
  const auto shapes = Gate(problem, Isa::portable).shapes();
  EXPECT_NE(std::find(shapes.begin(), shapes.end(), padded), shapes.end());
  for (const GemmProblem& shape : shapes)
    EXPECT_TRUE(shape == problem || shape.ldc > shape.m) << to_string(shape);
}

TEST(OperandRing, ShrinksToTheBudgetAndNoFurther) {
  GemmProblem problem = problem_of(DType::f64, Layout::strided, Scalar::zero);
  problem.residency = Residency::cold;
  const Arena arena;
  EXPECT_EQ(affordable_ring(problem, arena, std::numeric_limits<double>::infinity()).bytes, cold_bytes);
  const OperandRing none = affordable_ring(problem, arena, 1e-6);
  EXPECT_EQ(none.bytes, 0) << "nothing is filled in a microsecond";
  EXPECT_GT(none.fill_s, 1e-6);
  // Far more than the smallest ring takes, since other work may slow the filling down.
  const OperandRing some = affordable_ring(problem, arena, 20 * none.fill_s);
  EXPECT_GT(some.bytes, 0);
  EXPECT_LE(some.bytes, cold_bytes);
  problem.residency = Residency::l1;
  EXPECT_EQ(affordable_ring(problem, arena, 1e-9).bytes, cold_bytes) << "hot operands are few";
}

class Tune : public ::testing::Test {
 protected:
  static Isa isa() {
    return jit_available(Isa::avx512) ? Isa::avx512 : jit_available(Isa::avx2) ? Isa::avx2 : Isa::portable;
  }
  TuneResult tune(const GemmProblem& problem, const TuneOptions& options) {
    return tilewright::tune(*product_operation(problem, machine_, how_), options);
  }
  TuneMachine machine_{isa()};
  ProductTuning how_;
};

TEST_F(Tune, TheWinnerIsALegalConfigAndReadsBackAsWisdom) {
  const GemmProblem problem = problem_of(DType::f64, Layout::strided, Scalar::one);
  TuneOptions options;
  options.budget_s = 0.2;
  const TuneResult result = tune(problem, options);
  EXPECT_EQ(result.wrong, 0) << result.first_wrong;
  EXPECT_GE(result.candidates, 1);
  EXPECT_GT(result.seconds.centre, 0);
  EXPECT_GE(result.regret, 0);
  const auto config = from_json<GemmSmallCpuConfig>(result.config);
  const bool legal = result.config == result.default_config ||
                     gemm_small_cpu_space(parse_problem(result.subject), isa()).contains(config);
  EXPECT_TRUE(legal) << describe(config);

  const auto record = to_json(records_of(result).front());
  for (const char* key :
       {"family", "problem", "config", "device", "source_hash", "compiler", "objective", "seconds",
        "seconds_low", "seconds_high", "samples", "verdict", "time", "error", "error_bound", "metrics"})
    EXPECT_TRUE(record.contains(key)) << key;
  EXPECT_LE(record["error"], record["error_bound"]);
  EXPECT_GT(record["error_bound"], 0);
  for (const char* key : {"clock_mhz_low", "temperature_c_high"})
    EXPECT_TRUE(record["metrics"].contains(key)) << key;
  const TempFolder folder;
  const Wisdom wisdom({folder.write("wisdom.jsonl", record.dump() + "\n")}, record["device"]);
  EXPECT_TRUE(wisdom.offer({"gemm_small_cpu", to_string(isa()), problem}, [&](const WisdomAnswer& answer) {
    EXPECT_EQ(answer.match, WisdomMatch::exact);
    EXPECT_EQ(answer.config, result.config);
    return true;
  }));
}

TEST_F(Tune, IsolatedCallsHaveABatchAndARecordOfTheirOwn) {
  GemmProblem problem = problem_of(DType::f64, Layout::strided, Scalar::one);
  problem.batch_count = 3;
  const GemmProblem looped = timed_problem(problem);
  EXPECT_GT(looped.batch_count, 3);
  problem.arrival = Arrival::idle;
  TuneOptions options;
  options.budget_s = 0.2;
  const TuneResult result = tune(problem, options);
  EXPECT_EQ(result.wrong, 0) << result.first_wrong;
  EXPECT_GT(result.seconds.centre, 0);
  EXPECT_EQ(parse_problem(result.subject), problem) << "as it was asked for";
  const WisdomRecord record = records_of(result).front();
  WisdomRecord other = record;
  other.problem = to_string(looped);
  EXPECT_NE(identity_of(record), identity_of(other));

  EXPECT_THROW(product_operation(problem, machine_, how_)->meter(TuneObjective::parse("energy")), Error);
  EXPECT_EQ(layout_family().declines(problem).value().argument, "arrival");
}

TEST_F(Tune, ChoicesRestrictTheSearch) {
  const GemmProblem problem = problem_of(DType::f32, Layout::strided, Scalar::zero);
  TuneOptions options;
  options.budget_s = 0.1;
  const auto standard = gemm_small_cpu_default(problem, isa());
  how_.rules.choices.push_back({"nr", {standard.nr}});
  const auto one_nr = tune(problem, options);
  EXPECT_EQ(one_nr.config.at("nr"), standard.nr);
  how_.rules.choices = {{"no_such_axis", {1}}};
  EXPECT_THROW(tune(problem, options), Error);
  how_.rules.choices = {{"tail", {"no_such_tail"}}};
  EXPECT_THROW(tune(problem, options), Error);
}

TEST_F(Tune, ConditionsRestrictTheSearch) {
  EXPECT_EQ(AxisCondition::parse("nr>=4").relation, ">=");
  EXPECT_EQ(AxisCondition::parse("tail==mask").value, "mask");
  for (const char* text : {"nr", ">=4", "nr>=", ""}) EXPECT_THROW(AxisCondition::parse(text), Error) << text;
  ChoiceRules rules;
  rules.whole_space = true;
  rules.conditions = {AxisCondition::parse("nr<=2"), AxisCondition::parse("prefetch_bytes=0")};
  const GemmProblem problem = problem_of(DType::f64, Layout::strided, Scalar::one);
  const auto open = [&] { return gemm_small_cpu_family().open(problem, rules, machine_, cold_bytes); };
  const auto restricted = open();
  rules.whole_space = false;  // which takes seconds to walk
  ASSERT_GT(restricted.pool->size(), 1u);
  for (std::size_t i = 1; i < restricted.pool->size(); ++i) EXPECT_LE(restricted.pool->fields(i).at("nr"), 2);
  rules.conditions = {AxisCondition::parse("nr>99")};
  EXPECT_THROW(open(), Error);
  rules.conditions = {AxisCondition::parse("tail>mask")};
  EXPECT_THROW(open(), Error);
}

TEST_F(Tune, OneAxisAFewConfigsOrSeedsAlone) {
  const GemmProblem problem = problem_of(DType::f64, Layout::strided, Scalar::one);
  ChoiceRules rules;
  const auto open = [&] { return gemm_small_cpu_family().open(problem, rules, machine_, cold_bytes); };
  const std::size_t standard = open().pool->size();
  ASSERT_GT(standard, 4u);
  rules.most = 3;
  EXPECT_LE(open().pool->size(), 4u) << "the default besides";
  rules.most = 0;
  rules.vary = "nr";
  const auto along = open();
  nlohmann::json base = along.pool->fields(0);
  ASSERT_GT(along.pool->size(), 1u);
  for (std::size_t i = 1; i < along.pool->size(); ++i) {
    nlohmann::json other = along.pool->fields(i);
    EXPECT_NE(other["nr"], base["nr"]);
    other["nr"] = base["nr"];
    EXPECT_EQ(other, base);
  }
  rules.vary = "no_such";
  EXPECT_THROW(open(), Error);
  rules = {};
  rules.most = 1;
  rules.seeds = {along.pool->fields(1), {{"no_such", 1}}};
  const auto seeded = open();
  EXPECT_LE(seeded.pool->size(), 3u);
  EXPECT_EQ(seeded.pool->fields(seeded.pool->size() - 1), along.pool->fields(1));
}

TEST_F(Tune, EveryStrategyKeepsItsBudget) {
  const GemmProblem problem = problem_of(DType::f64, Layout::strided, Scalar::one);
  for (const char* strategy : {"exhaustive", "random", "local", "model"}) {
    TuneOptions options;
    options.strategy = strategy;
    options.budget_s = 0.3;
    options.clock = BudgetClock::of_turns();  // what else the machine does is none of its business
    const TuneResult result = tune(problem, options);
    EXPECT_GT(result.measured, 0) << strategy;
    EXPECT_LT(options.clock.now(), 2 * options.budget_s) << strategy;
  }
}

TEST_F(Tune, AnIncumbentStaysUnlessClearlyBeaten) {
  const GemmProblem problem = problem_of(DType::f64, Layout::strided, Scalar::one);
  TuneOptions options;
  options.budget_s = 0.3;
  const TuneResult first = tune(problem, options);
  options.incumbent = first.config;
  const TuneResult second = tune(problem, options);
  // Times of two runs say nothing of each other where others are at work, too.
  if (second.config != first.config) {
    EXPECT_TRUE(second.decided);
    EXPECT_FALSE(second.tie);
  }
}

TEST_F(Tune, EnergyNeedsAMeter) {
  const GemmProblem problem = problem_of(DType::f64, Layout::strided, Scalar::one);
  TuneOptions options;
  options.budget_s = 0.2;
  options.objective = TuneObjective::parse("edp");
  EXPECT_THROW(tune(problem, options), Error);
  FakeMeter gpu({Location::device, "GPU-1", 0});
  options.meter = &gpu;
  EXPECT_THROW(tune(problem, options), Error) << "the GPU's joules are not the CPU's";
  FakeMeter meter;
  options.meter = &meter;
  auto records = records_of(tune(problem, options));
  // A machine that is busy elsewhere may need longer to compare anything.
  for (; records.empty() && options.budget_s < 20; records = records_of(tune(problem, options)))
    options.budget_s *= 2;
  ASSERT_FALSE(records.empty());
  const WisdomRecord& record = records.front();
  EXPECT_EQ(record.objective, "edp");
  EXPECT_GT(record.energy_j.value(), 0);
  EXPECT_EQ(record.metrics.at("energy_of"), "1 CPU package");
}

TEST_F(Tune, StopsWhenToldTo) {
  TuneOptions options;
  int asked = 0;
  options.stop = [&] { return ++asked > 5; };
  const TuneResult result = tune(problem_of(DType::f64, Layout::strided, Scalar::one), options);
  EXPECT_FALSE(result.complete);
  EXPECT_LT(asked, 10) << "it went on";
}

TEST_F(Tune, RefusesWhatHasNoSpace) {
  TuneOptions options;
  GemmProblem problem = problem_of(DType::f64, Layout::strided, Scalar::one);
  problem.residency = Residency::automatic;
  EXPECT_THROW(tune(problem, options), Error);
  EXPECT_THROW(tune(cases::strided(DType::f64, {65, 4, 4}, Scalar::one, 1), options), Error);
}

}  // namespace
}  // namespace tilewright
