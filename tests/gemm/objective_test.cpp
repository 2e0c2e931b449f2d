// The objective of a call: which record of wisdom serves it, what is said where there is none, and weights
// that are refused. What tuning minimises is another test's matter (strategy_test).
#include "core/objective.hpp"

#include <gtest/gtest.h>

#include "device/cpu.hpp"
#include "gemm/plan.hpp"
#include "kernel/gemm_small_cpu/kernel.hpp"
#include "tilewright/tilewright.h"
#include "wisdom/wisdom_files.hpp"

namespace tilewright {
namespace {

constexpr const char* known = "gemm_batched:f64:nn:m=8,n=8,k=8:strided:batch=100:residency=l1";
constexpr const char* time_alone = "gemm_batched:f32:nn:m=8,n=8,k=8:strided:batch=100:residency=l1";
constexpr const char* unknown = "gemm_batched:c64:nn:m=8,n=8,k=8:strided:batch=100:residency=l1";

// Of one problem what was searched for several objectives, of another for time alone, of a third nothing.
class ObjectiveOfCalls : public WisdomFolder {
 protected:
  ObjectiveOfCalls() {
    for (const auto& [problem, objective] :
         {std::pair(known, "time"), std::pair(known, "energy"), std::pair(known, "alpha=0.7"),
          std::pair(known, "energy_within=5%"), std::pair(time_alone, "time")}) {
      const GemmProblem p = parse_problem(problem);
      WisdomRecord r = record(p, 1, cpu_info().device);
      r.config = to_json(gemm_small_cpu_default(p, Isa::portable));
      r.objective = objective;
      lines_ += to_json(r).dump() + "\n";
    }
    options_.wisdom = folder_.write("wisdom.jsonl", lines_);
    options_.cpu = "portable";
  }
  GemmPlan planned(const char* problem, Objective objective, std::optional<double> weight = {}) {
    Context context(options_);
    return plan(context, parse_problem(problem), {.objective = objective, .objective_weight = weight});
  }
  // The line of the file that the config came from; "" for the rule of thumb.
  std::string line_of(const GemmPlan& made) {
    const std::string& source = Access::impl(made).known.source;
    return source.starts_with(options_.wisdom) ? source.substr(options_.wisdom.size() + 1) : "";
  }

  std::string lines_;
  ContextOptions options_;
};

TEST_F(ObjectiveOfCalls, RecordsOfThatObjectiveServe) {
  EXPECT_EQ(line_of(planned(known, Objective::time)), "1");
  EXPECT_EQ(line_of(planned(known, Objective::energy)), "2");
  EXPECT_EQ(line_of(planned(known, Objective::alpha, 0.7)), "3");
  EXPECT_EQ(line_of(planned(known, Objective::energy_within)), "4") << "5 % is usual";
  EXPECT_EQ(line_of(planned(known, Objective::energy_within, 0.05)), "4");
  const GemmPlan made = planned(known, Objective::energy);
  EXPECT_TRUE(Access::impl(made).notices.empty());
  EXPECT_NE(made.explain().find("searched for energy"), std::string::npos) << made.explain();
}

TEST_F(ObjectiveOfCalls, WhatWasSearchedForTimeStandsInWithANotice) {
  for (const auto& made :
       {planned(time_alone, Objective::energy), planned(known, Objective::edp),
        planned(known, Objective::alpha, 0.3), planned(known, Objective::energy_within, 0.1)}) {
    EXPECT_EQ(Access::impl(made).known.match, WisdomMatch::exact);
    EXPECT_EQ(Access::impl(made).known.recorded.objective, "time");
    ASSERT_EQ(Access::impl(made).notices.size(), 1u);
    EXPECT_NE(Access::impl(made).notices[0].find("searched for time"), std::string::npos)
        << Access::impl(made).notices[0];
    EXPECT_NE(made.explain().find("searched for time"), std::string::npos) << made.explain();
  }
}

TEST_F(ObjectiveOfCalls, TheDefaultStandsInWhereNothingIsKnown) {
  const GemmPlan made = planned(unknown, Objective::edp);
  EXPECT_EQ(Access::impl(made).known.match, WisdomMatch::none);
  ASSERT_EQ(Access::impl(made).notices.size(), 1u);
  EXPECT_NE(Access::impl(made).notices[0].find("objective = edp"), std::string::npos)
      << Access::impl(made).notices[0];
}

TEST_F(ObjectiveOfCalls, TheyRunAndAreKeptApart) {
  Context context(options_);
  std::vector<double> a(64, 1), c(64);
  for (const Objective objective : {Objective::time, Objective::energy, Objective::edp}) {
    gemm<double>(context, Op::none, Op::none, 1, {a.data(), 8, 8, 8}, {a.data(), 8, 8, 8}, 0,
                 MatrixView<double>{c.data(), 8, 8, 8}, {.objective = objective});
    EXPECT_EQ(c[63], 8);
  }
  const auto line = [&](const GemmOptions& options) {
    return line_of(plan(context, parse_problem(known), options));
  };
  EXPECT_EQ(line({.objective = Objective::alpha, .objective_weight = 0.7}), "3");
  EXPECT_EQ(line({.objective = Objective::alpha, .objective_weight = 0.2}), "1");
  EXPECT_EQ(line({.objective = Objective::alpha, .objective_weight = 0.7}), "3");
}

// The records of another way of calling are another matter of the same kind.
class ArrivalOfCalls : public ObjectiveOfCalls {
 protected:
  ArrivalOfCalls() {
    WisdomRecord r = record(isolated(known), 1, cpu_info().device);
    r.config = to_json(gemm_small_cpu_default(parse_problem(known), Isa::portable));
    lines_ += to_json(r).dump() + "\n";
    options_.wisdom = folder_.write("wisdom.jsonl", lines_);
  }
  static GemmProblem isolated(const char* problem) {
    return parse_problem(std::string(problem) + ":arrival=idle");
  }
  GemmPlan called(const GemmProblem& problem, Arrival arrival) {
    Context context(options_);
    return plan(context, problem, {.arrival = arrival});
  }
};

TEST_F(ArrivalOfCalls, RecordsOfIsolatedCallsServeThoseThatAskForThem) {
  const GemmProblem problem = parse_problem(known);
  EXPECT_EQ(line_of(called(problem, Arrival::back_to_back)), "1");
  EXPECT_EQ(called(problem, Arrival::back_to_back).explain().find("arrival"), std::string::npos);
  for (const GemmPlan& made :
       {called(problem, Arrival::idle), called(isolated(known), Arrival::back_to_back)}) {
    EXPECT_EQ(line_of(made), "6");
    EXPECT_EQ(made.problem().arrival, Arrival::idle);
    EXPECT_NE(made.explain().find("idle; the record was timed idle"), std::string::npos) << made.explain();
  }
  const GemmPlan looped = called(parse_problem(time_alone), Arrival::idle);
  EXPECT_EQ(line_of(looped), "5");
  EXPECT_NE(looped.explain().find("timed back_to_back"), std::string::npos) << looped.explain();
}

TEST_F(ArrivalOfCalls, TheEnvironmentSpeaksForAllCalls) {
  ASSERT_EQ(setenv("TILEWRIGHT_ARRIVAL", "idle", 1), 0);
  EXPECT_EQ(line_of(called(parse_problem(known), Arrival::back_to_back)), "6");
  ASSERT_EQ(setenv("TILEWRIGHT_ARRIVAL", "often", 1), 0);
  EXPECT_THROW(Context{options_}, Error);
  unsetenv("TILEWRIGHT_ARRIVAL");
}

TEST_F(ArrivalOfCalls, PreparedPlansAreKeptApart) {
  Context context(options_);
  prepare(context, std::vector{isolated(known)});
  prepare(context, std::vector{parse_problem(known)}, {.arrival = Arrival::idle});
  EXPECT_EQ(line_of(plan(context, parse_problem(known))), "1");
  EXPECT_EQ(line_of(plan(context, parse_problem(known), {.arrival = Arrival::idle})), "6");
}

TEST_F(ObjectiveOfCalls, WeightsAreChecked) {
  const std::pair<Objective, std::optional<double>> wrong[] = {{Objective::alpha, {}},
                                                               {Objective::alpha, 1.5},
                                                               {Objective::energy_within, -0.1},
                                                               {Objective::time, 0.5},
                                                               {Objective::edp, 0.5}};
  for (const auto& [objective, weight] : wrong) try {
      planned(known, objective, weight);
      ADD_FAILURE() << to_string(objective);
    } catch (const Error& error) {
      EXPECT_EQ(error.argument(), "objective_weight") << error.what();
      EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    }
}

TEST(ObjectiveTexts, AreWhatRecordsBear) {
  EXPECT_EQ(TuneObjective::of(Objective::energy_within, {}).text(), "energy_within=5%");
  EXPECT_EQ(TuneObjective::of(Objective::alpha, 0.7).text(), TuneObjective::parse("alpha=0.7").text());
  EXPECT_EQ(TuneObjective::parse("energy_within=10%").number(), 0.1);
  EXPECT_EQ(TuneObjective::parse("energy_within=500%").number(), 5.0);
  EXPECT_FALSE(TuneObjective::parse("edp").number());
  for (const char* text : {"energy_within=5", "alpha=1.1", "alpha=70%"})
    EXPECT_THROW(TuneObjective::parse(text), Error) << text;
}

}  // namespace
}  // namespace tilewright
