// A candidate is one object in a list, of products (support/dummy_candidate.cpp) or of factorizations. Offers
// are ranked by what they say they cost, and by how that is known.
#include <gtest/gtest.h>

#include "gemm/plan.hpp"
#include "lu/candidates.hpp"
#include "lu/reference.hpp"
#include "lu/validate.hpp"
#include "support/dummy_candidate.hpp"
#include "support/operands.hpp"

namespace tilewright::testing {
namespace {

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

class CandidateList : public ::testing::Test {
 protected:
  // The library's, and these behind them.
  void use(const std::vector<GemmCandidate>& more) {
    list_.assign(gemm_candidates().begin(), gemm_candidates().end());
    list_.insert(list_.end(), more.begin(), more.end());
    Access::impl(context_).candidates = list_;
    context_.clear_plan_cache();
  }
  GemmPlan plan_of(const std::string& problem, const std::string& candidate = "") {
    GemmOptions options;
    options.candidate = candidate;
    return plan(context_, parse_problem(problem), options);
  }
  std::string chosen(const std::string& problem, const std::string& candidate = "") {
    return Access::impl(plan_of(problem, candidate)).candidate;
  }

  Context context_;
  std::vector<GemmCandidate> list_;
};

TEST_F(CandidateList, AWayOfItsOwnIsPlannedExplainedAndRun) {
  use({quick_candidate});
  const GemmProblem p = parse_problem("gemm_batched:f64:nt:m=70,n=5,k=6:strided:batch=40:beta=general");
  const GemmPlan made = plan(context_, p);
  EXPECT_EQ(Access::impl(made).candidate, "quick");
  const std::string text = made.explain();
  for (const char* part :
       {"quick: taken", "host_blas: not taken; ", "reference: not taken; supports it, but quick ranks higher",
        R"({"nanoseconds":20})", "predicted  20 ns by its own word"})
    EXPECT_TRUE(contains(text, part)) << part << '\n' << text;
  EXPECT_TRUE(Access::impl(made).notices.empty()) << "it needs no record";
  TestOperands<double> x(p);
  const auto expected = x.expected();
  made.run<double>(1.0, x.a.data(), x.b.data(), x.beta, x.c.data());
  EXPECT_EQ(x.c, expected);
}

TEST_F(CandidateList, CostsDecideWithinATierAndNotTheOrder) {
  const char* const large = "gemm:f64:nn:m=70,n=70,k=70";
  for (const auto& more :
       {std::vector{slow_candidate, quick_candidate}, std::vector{quick_candidate, slow_candidate}}) {
    use(more);
    EXPECT_EQ(chosen(large), "quick");
    EXPECT_EQ(chosen(large, "slow"), "slow") << "asked for";
    EXPECT_EQ(chosen("gemm:f64:nn:m=8,n=8,k=8"), "cpu_small") << "an earlier tier";
    EXPECT_EQ(chosen("gemm:f64:nn:m=8,n=8,k=8", "slow"), "slow");
    EXPECT_EQ(chosen("gemm:f64:nn:m=8,n=8,k=0", "slow"), "scale") << "no product is formed";
    const std::string declined = explain(context_, parse_problem("gemm:f64:nn:m=71,n=70,k=70"));
    EXPECT_TRUE(contains(declined, "quick: not taken; it does not like 71 rows")) << declined;
  }
}

TEST_F(CandidateList, NamesOfTheLastReleaseAreAccepted) {
  const std::string small = "gemm:f64:nn:m=8,n=8,k=8", band = "gemm:f64:nn:m=90,n=8,k=8";
  EXPECT_EQ(chosen(small, "gemm_small_cpu"), "cpu_small");
  EXPECT_EQ(chosen(band, "gemm_small_cpu_bands"), "cpu_bands");
  EXPECT_EQ(chosen("gemm_batch_reduce:f64:nn:m=8,n=8,k=8:strided:batch=9:beta=one", "sums"), "batch_reduce");
  for (const char* asked : {"gemm_small", "gemm", "stencil", "cblas"}) {
    const auto current = std::string(current_candidate(asked));
    std::vector<std::string> names;
    for (const GemmCandidate& one : gemm_candidates()) names.push_back(one.name);
    EXPECT_EQ(std::count(names.begin(), names.end(), current), 1) << asked;
    EXPECT_EQ(std::count(names.begin(), names.end(), asked), 0) << asked;
  }
}

// What is refused makes way for the candidate's next offer, which has to be the best again.
TEST_F(CandidateList, RefusedOffersMakeWay) {
  use({boastful_candidate, slow_candidate});
  EXPECT_EQ(Access::impl(plan_of("gemm:f64:nn:m=70,n=70,k=70")).runner->config()["nanoseconds"], 25);
  use({boastful_candidate, quick_candidate});
  const GemmPlan made = plan_of("gemm:f64:nn:m=70,n=70,k=70");
  EXPECT_EQ(Access::impl(made).candidate, "quick");
  EXPECT_TRUE(contains(made.explain(), "boastful: not taken; 10 ns were boasted")) << made.explain();
}

class NaiveLu : public LuRunner {
 public:
  using LuRunner::LuRunner;
  LuReport factor(void* a, std::int64_t* pivots) const override {
    const LuProblem& p = request().problem;
    LuReport report;
    report.info = factor_reference(p.m, p.n, static_cast<double*>(a), p.lda, pivots);
    return report;
  }
  std::string describe() const override { return "as the book says"; }
  std::optional<double> predicted_s() const override { return 0.5; }
};

std::string naive_declines(const LuRequest& r) { return r.problem.m == 71 ? "it does not like 71 rows" : ""; }

constinit const LuCandidate naive_lu{"naive", Tier::any, naive_declines, one_runner<NaiveLu>};

TEST(LuCandidateList, AFactorizationOfItsOwnIsPlannedExplainedDeclinedAndRun) {
  std::vector<LuCandidate> list{naive_lu};
  list.insert(list.end(), lu_candidates().begin(), lu_candidates().end());
  Context context({.use_wisdom = false, .notices = false});
  const LuProblem p{DType::f64, 3, 3, 3}, disliked{DType::f64, 71, 3, 71};
  const LuRanking decided = decide_lu(context, p, {}, list);
  ASSERT_EQ(decided.candidate, "naive");
  EXPECT_EQ(decided.decisions.size(), 1u) << "those behind it are not asked";
  std::vector<double> a{1, 2, 4, 2, 5, 6, 3, 1, 9}, expected = a;
  std::vector<std::int64_t> pivots(3), right(3);
  factor_reference(3, 3, expected.data(), 3, right.data());
  EXPECT_EQ(decided.made.runner->factor(a.data(), pivots.data()).info, 0);
  EXPECT_EQ(a, expected);
  EXPECT_EQ(pivots, right);

  const Explanation said = lu_explanation(context, p, {}, list);
  EXPECT_EQ(lu_text(said), to_string(p) + "\n  naive: taken; as the book says\n");
  EXPECT_EQ(said.predicted_s, 0.5);
  const std::string declined = lu_text(lu_explanation(context, disliked, {}, list));
  EXPECT_TRUE(contains(declined, "  naive: not taken; it does not like 71 rows\n")) << declined;
  EXPECT_TRUE(contains(declined, ": taken; ")) << declined;
  EXPECT_EQ(decide_lu(context, p, {.candidate = "reference"}, list).candidate, "reference") << "asked for";

  const LuRanking none = decide_lu(context, disliked, {.candidate = "naive"}, list);
  EXPECT_EQ(none.reasons(), "naive: it does not like 71 rows");
  EXPECT_THROW(require_served(none, disliked, {.candidate = "naive"}), Error);
  EXPECT_THROW(validate_host({.candidate = "naive"}), Error) << "the library's list has none";
}

class OffersCompared : public CandidateList {
 protected:
  static CostEstimate offer(double seconds, WisdomMatch match = WisdomMatch::none,
                            const char* device = "here") {
    CostEstimate made;
    if (seconds > 0) made.seconds = seconds;
    made.known.match = match;
    made.known.device = device;
    return made;
  }
  // Of a family with configs.
  static CostEstimate ours(double seconds, WisdomMatch match = WisdomMatch::none,
                           const char* device = "here") {
    CostEstimate made = offer(seconds, match, device);
    made.has_config = true;
    return made;
  }
  static bool wins(const CostEstimate& later, const CostEstimate& first) {
    return is_preferred(TuneObjective(), later, first);
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
  EXPECT_FALSE(wins(offer(2, exact), ours(1, near)));
  EXPECT_TRUE(wins(ours(1, near), offer(2, exact)));
  CostEstimate doubted = ours(1.9, near);
  doubted.error = 0.5;  // of a problem far away: on average it takes 1.9 exp(1/8)
  EXPECT_TRUE(wins(offer(2, exact), doubted)) << "the expected time counts";
  EXPECT_FALSE(wins(doubted, offer(2, exact)));
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
