// What it takes to add a way to compute: one file (support/dummy_way.cpp) and one line in a list. Offers are
// ranked by what they say they cost, and by how that is known.
#include <gtest/gtest.h>

#include "gemm/candidates.hpp"
#include "gemm/plan.hpp"
#include "support/dummy_way.hpp"
#include "support/operands.hpp"

namespace tilewright::testing {
namespace {

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

class CandidateList : public ::testing::Test {
 protected:
  // The library's, and these behind them.
  void use(const std::vector<Candidate>& more) {
    list_.assign(gemm_candidates().begin(), gemm_candidates().end());
    list_.insert(list_.end(), more.begin(), more.end());
    context_.impl().candidates = list_;
    context_.forget_plans();
  }
  GemmPlan plan_of(const std::string& problem, const std::string& candidate = "") {
    GemmOptions options;
    options.candidate = candidate;
    return plan(context_, parse_problem(problem), options);
  }
  std::string chosen(const std::string& problem, const std::string& candidate = "") {
    return plan_of(problem, candidate).impl().candidate;
  }

  Context context_;
  std::vector<Candidate> list_;
};

TEST_F(CandidateList, AWayOfItsOwnIsPlannedExplainedAndRun) {
  use({quick_way});
  const GemmProblem p = parse_problem("gemm_batched:f64:nt:m=70,n=5,k=6:strided:batch=40:beta=general");
  const GemmPlan made = plan(context_, p);
  EXPECT_EQ(made.impl().candidate, "quick");
  const std::string text = made.explain();
  for (const char* part : {"quick          taken",
                           "cblas          no: ", "reference      no: could serve, but comes after quick",
                           R"({"nanoseconds":20})", "predicted  20 ns by its own word"})
    EXPECT_TRUE(contains(text, part)) << part << '\n' << text;
  EXPECT_TRUE(made.impl().notices.empty()) << "it needs no record";
  TestOperands<double> x(p);
  const auto expected = x.expected();
  made.run<double>(1.0, x.a.data(), x.b.data(), x.beta, x.c.data());
  EXPECT_EQ(x.c, expected);
}

TEST_F(CandidateList, CostsDecideWithinATierAndNotTheOrder) {
  const char* const large = "gemm:f64:nn:m=70,n=70,k=70";
  for (const auto& more : {std::vector{slow_way, quick_way}, std::vector{quick_way, slow_way}}) {
    use(more);
    EXPECT_EQ(chosen(large), "quick");
    EXPECT_EQ(chosen(large, "slow"), "slow") << "asked for";
    EXPECT_EQ(chosen("gemm:f64:nn:m=8,n=8,k=8"), "gemm_small_cpu") << "an earlier tier";
    EXPECT_EQ(chosen("gemm:f64:nn:m=8,n=8,k=8", "slow"), "slow");
    EXPECT_EQ(chosen("gemm:f64:nn:m=8,n=8,k=0", "slow"), "scale") << "no product is formed";
    const std::string declined = explain(context_, parse_problem("gemm:f64:nn:m=71,n=70,k=70"));
    EXPECT_TRUE(contains(declined, "quick          no: it does not like 71 rows")) << declined;
  }
}

// What is refused makes way for the candidate's next offer, which has to be the best again.
TEST_F(CandidateList, RefusedOffersMakeWay) {
  use({boastful_way, slow_way});
  EXPECT_EQ(plan_of("gemm:f64:nn:m=70,n=70,k=70").impl().runner->config()["nanoseconds"], 25);
  use({boastful_way, quick_way});
  const GemmPlan made = plan_of("gemm:f64:nn:m=70,n=70,k=70");
  EXPECT_EQ(made.impl().candidate, "quick");
  EXPECT_TRUE(contains(made.explain(), "boastful       no: 10 ns were boasted")) << made.explain();
}

class OffersCompared : public CandidateList {
 protected:
  static Offer offer(double seconds, WisdomMatch match = WisdomMatch::none, const char* device = "here") {
    Offer made;
    if (seconds > 0) made.seconds = seconds;
    made.known.match = match;
    made.known.device = device;
    return made;
  }
  // Of a family with configs.
  static Offer ours(double seconds, WisdomMatch match = WisdomMatch::none, const char* device = "here") {
    Offer made = offer(seconds, match, device);
    made.has_config = true;
    return made;
  }
  bool wins(const Offer& later, const Offer& first) {
    const GemmProblem p = parse_problem("gemm:f64:nn:m=70,n=70,k=70");
    const GemmOptions options;
    return goes_before({context_.impl(), p, options}, later, first);
  }
};

TEST_F(OffersCompared, WhatIsKnownGoesFirst) {
  EXPECT_TRUE(wins(offer(1), offer(0)));
  EXPECT_FALSE(wins(offer(0), offer(9)));
  EXPECT_FALSE(wins(offer(0), offer(0))) << "the order of the list";
  EXPECT_TRUE(wins(offer(0), ours(0))) << "no config that nobody measured";
  EXPECT_FALSE(wins(ours(0), offer(0)));
}

TEST_F(OffersCompared, ByTimeWhereTheyCanBe) {
  constexpr auto exact = WisdomMatch::exact, near = WisdomMatch::near_shape, away = WisdomMatch::near_device;
  EXPECT_TRUE(wins(offer(1, exact), ours(2, exact)));
  EXPECT_FALSE(wins(offer(2, exact), ours(2, exact))) << "the order of the list";
  EXPECT_TRUE(wins(offer(2, exact), ours(1, near))) << "measured of this problem";
  EXPECT_FALSE(wins(ours(1, near), offer(2, exact)));
  EXPECT_TRUE(wins(offer(1, near), ours(2, exact)));
  EXPECT_FALSE(wins(offer(2, near), ours(1, exact)));
  EXPECT_TRUE(wins(offer(2, near), ours(1, away, "there"))) << "measured here";
  EXPECT_FALSE(wins(offer(1, away, "there"), ours(2, near)));
  EXPECT_TRUE(wins(offer(1, away, "there"), ours(2, away, "there")));
  EXPECT_FALSE(wins(offer(2, away, "there"), ours(1, away, "there")));
  EXPECT_TRUE(wins(offer(2, away, "there"), ours(1, away, "elsewhere"))) << "nothing is known of either here";
  EXPECT_TRUE(wins(offer(1), ours(2))) << "forecasts of this device";
}

}  // namespace
}  // namespace tilewright::testing
