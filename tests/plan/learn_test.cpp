// Learning from calls on a simulated machine: which offer is kept, and what trying the others costs.
#include "plan/learn.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

namespace tilewright::testing {
namespace {

// Offers with true times, seen through noise. The first call of each takes longer by a factor.
struct Machine {
  std::vector<double> times;
  double noise = 0;
  double first_factor = 1;
  double disturbed_share = 0;  // of calls, which take three times as long
  std::mt19937 random{1};

  double run(std::size_t offer, int call) {
    const double seen = times[offer] * std::exp(std::normal_distribution<>(0, noise)(random));
    const bool is_disturbed = std::uniform_real_distribution<>()(random) < disturbed_share;
    return seen * (call == 0 ? first_factor : 1) * (is_disturbed ? 3 : 1);
  }
};

struct Outcome {
  std::size_t kept = 0;
  double lost = 0;  // of the first 100 calls, as a share of the time of the fastest offer
};

Outcome learn(Machine& machine, std::vector<double> expected) {
  CallLearner learner(std::move(expected));
  const double fastest = *std::min_element(machine.times.begin(), machine.times.end());
  Outcome outcome;
  for (int call = 0; call < 100; ++call) {
    const std::size_t offer = learner.next();
    learner.add(offer, machine.run(offer, int(learner.times(offer).size())));
    outcome.lost += (machine.times[offer] / fastest - 1) / 100;
  }
  EXPECT_TRUE(learner.has_decided());
  outcome.kept = learner.leader();
  return outcome;
}

// The bar: the default is 5 to 60 % slower than the best of the others.
TEST(CallLearner, KeepsTheFastestAtLittleCost) {
  std::mt19937 random(2026);
  const auto between = [&](double low, double high) {
    return std::uniform_real_distribution<>(low, high)(random);
  };
  for (const double first_factor : {1.0, 3.0}) {
    int right = 0, within = 0;
    constexpr int problems = 400;
    for (int i = 0; i < problems; ++i) {
      Machine machine{{between(1.05, 1.6), 1, between(1, 2)}, 0.03, first_factor};
      machine.random.seed(unsigned(i));
      if (i % 2 == 0) std::swap(machine.times[1], machine.times[2]);
      const Outcome outcome = learn(machine, {1, 1, 1});
      right += machine.times[outcome.kept] <= 1.001 ? 1 : 0;
      within += outcome.lost <= 0.05 ? 1 : 0;
    }
    EXPECT_GE(right, problems * 95 / 100) << first_factor;
    EXPECT_EQ(within, problems) << first_factor;
  }
}

TEST(CallLearner, FewDisturbedCallsMisleadItSeldom) {
  int right = 0;
  constexpr int problems = 400;
  for (int i = 0; i < problems; ++i) {
    Machine machine{{1.3, 1, 1.2}, 0.03, 1, 0.02};
    machine.random.seed(unsigned(i));
    right += learn(machine, {1, 1, 1}).kept == 1 ? 1 : 0;
  }
  EXPECT_GE(right, problems * 95 / 100);
}

TEST(CallLearner, KeepsTheDefaultThatIsFastest) {
  for (int i = 0; i < 100; ++i) {
    Machine machine{{1, 1.2, 1.4}, 0.03};
    machine.random.seed(unsigned(i));
    EXPECT_EQ(learn(machine, {1, 1.1, 1.2}).kept, 0u);
  }
}

// Nobody tells what an offer costs before it runs: after two calls one that takes ten times as long is out.
TEST(CallLearner, DropsAnOfferThatIsFarSlowerThanExpected) {
  CallLearner learner({1, 1});
  int calls = 0;
  for (int call = 0; call < 100; ++call) {
    const std::size_t offer = learner.next();
    calls += offer == 1 ? 1 : 0;
    learner.add(offer, offer == 1 ? 10 : 1);
  }
  EXPECT_LE(calls, 2);
  EXPECT_EQ(learner.leader(), 0u);
}

TEST(CallLearner, DoesNotTryWhatIsExpectedToExceedTheBudget) {
  CallLearner learner({1, 7});
  EXPECT_EQ(learner.next(), 0u);
  learner.add(0, 1e-3);
  EXPECT_EQ(learner.next(), 0u);
  EXPECT_TRUE(learner.has_decided());
}

TEST(CallLearner, HasNothingToLearnOfOneOffer) {
  const CallLearner learner({1});
  EXPECT_TRUE(learner.has_decided());
  EXPECT_EQ(learner.leader(), 0u);
  EXPECT_EQ(learner.seconds(0), 0);
}

TEST(CallLearner, IgnoresTimesThatCannotBe) {
  CallLearner learner({1, 1});
  learner.add(0, 0);
  learner.add(0, -1);
  EXPECT_EQ(learner.calls(), 0);
  learner.add(0, 2);
  EXPECT_EQ(learner.seconds(0), 2);
}

}  // namespace
}  // namespace tilewright::testing
