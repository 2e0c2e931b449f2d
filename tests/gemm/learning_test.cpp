// Plans that learn from their calls: real kernels whose times a clock of the test says, what wisdom keeps of
// them, and that the next Context chooses by it.
#include "gemm/run/learning.hpp"

#include <gtest/gtest.h>

#include <thread>

#include "gemm/context_impl.hpp"
#include "gemm/plan.hpp"
#include "wisdom/store.hpp"
#include "wisdom/wisdom_files.hpp"

namespace tilewright::testing {
namespace {

class SaidTimer : public CallTimer {
 public:
  explicit SaidTimer(double seconds) : seconds_(seconds) {}
  bool begin(const Operands&) override { return true; }
  void end(const Operands&) override {}
  std::optional<double> seconds() override { return seconds_; }

 private:
  double seconds_;
};

class LearningTest : public WisdomFolder {
 protected:
  ContextOptions options() const {
    ContextOptions made;
    made.cpu = "portable";
    made.wisdom = path("wisdom.sqlite");
    made.notices = false;
    return made;
  }

  // n x n problems of ones.
  static constexpr std::int64_t n = 9, count = 2000;
  static GemmProblem ones() {
    GemmProblem p;
    p.m = p.n = p.k = n;
    p.layout = Layout::strided;
    p.batch_count = count;
    p.beta = Scalar::zero;
    p.residency = Residency::l2;
    return packed(p);
  }
  Operands operands() {
    return {.a = in.data(), .b = in.data(), .c = out.data(), .alpha = &one, .beta = &zero};
  }
  bool is_right() const {
    return std::all_of(out.begin(), out.end(), [](double c) { return c == double(n); });
  }

  // A runner of the problem whose offers take these times, as many as there are offers on this machine. All
  // are expected to take as long, so that none is dropped untried.
  std::shared_ptr<const Runner> runner(Context& context, std::vector<double> seconds) {
    const GemmProblem p = with_general_scalars(ones());
    const GemmOptions how{.threads = 1};
    const PlanRequest request{.context = Access::impl(context), .problem = p, .options = how, .learns = true};
    auto ranking = rank(request, gemm_candidates());
    ranking.cost.seconds.reset();
    for (auto& rival : ranking.rivals) rival.seconds.reset();
    auto chosen = ranking.made.runner;
    said.clear();
    return learning_runner(request, std::move(chosen), ranking, [&](const PlanRequest&) {
      said.push_back(seconds[said.size() % seconds.size()]);
      return std::make_unique<SaidTimer>(said.back());
    });
  }

  const double one = 1, zero = 0;
  std::vector<double> said;  // the time of each offer
  std::vector<double> in = std::vector<double>(n * n * count, 1), out = std::vector<double>(n * n * count);
};

TEST_F(LearningTest, KeepsTheFastestConfigInWisdomAndChoosesItThen) {
  Context context(options());
  const auto learning = runner(context, {1.3e-4, 1.2e-4, 1e-4});
  const nlohmann::json before = learning->config();
  EXPECT_NE(learning->learned().find("0 of at most 100 calls timed"), std::string::npos);
  ASSERT_GE(said.size(), 2U);
  const double fastest = *std::min_element(said.begin(), said.end());
  for (int call = 0; call < 100; ++call) {
    std::fill(out.begin(), out.end(), -1);
    learning->check(operands());
    learning->run(operands());
    ASSERT_TRUE(is_right()) << call;
  }
  EXPECT_NE(learning->learned().find("is the fastest by"), std::string::npos) << learning->learned();
  EXPECT_NE(learning->learned().find("kept in " + path("wisdom.sqlite")), std::string::npos);
  EXPECT_NE(learning->config(), before);

  const auto records = Access::impl(context).wisdom()->records_of("gemm_small_cpu");
  const auto found = std::find_if(records->begin(), records->end(), [](const WisdomRecord& record) {
    return record.extra.value("learned_from", "") == "calls";
  });
  ASSERT_NE(found, records->end());
  EXPECT_EQ(found->config, learning->config());
  EXPECT_DOUBLE_EQ(found->seconds, fastest / count);
  EXPECT_DOUBLE_EQ(found->default_seconds.value_or(0), 1.3e-4 / count);

  Context later(options());
  const auto plan = find_plan(Access::impl(later), ones(), {.threads = 1, .learn = Learn::calls});
  EXPECT_EQ(plan->known.match, WisdomMatch::exact);
  EXPECT_EQ(plan->runner->config(), learning->config());
  EXPECT_EQ(plan->runner->learned(), "") << "there is nothing left to learn";
}

TEST_F(LearningTest, AFailedCallSaysNothing) {
  Context context(options());
  const auto learning = runner(context, {1, 1, 1});
  Operands wrong = operands();
  wrong.stream = reinterpret_cast<CUstream_st*>(&wrong);
  EXPECT_THROW(learning->check(wrong), Error);
  EXPECT_NE(learning->learned().find("0 of at most 100 calls timed"), std::string::npos);
}

TEST_F(LearningTest, SaysWhyNothingIsKept) {
  ContextOptions without = options();
  without.use_wisdom = false;
  Context context(without);
  const auto learning = runner(context, {1.2e-4, 1e-4, 1.3e-4});
  for (int call = 0; call < 100; ++call) learning->run(operands());
  EXPECT_NE(learning->learned().find("not kept: there is no database of wisdom"), std::string::npos)
      << learning->learned();
}

TEST_F(LearningTest, ThreadsMayShareAPlanThatLearns) {
  Context context(options());
  const auto plan = find_plan(Access::impl(context), ones(), {.threads = 1, .learn = Learn::calls});
  EXPECT_NE(plan->runner->learned(), "");
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      std::vector<double> own(out.size(), -1);
      Operands o = operands();
      o.c = own.data();
      for (int call = 0; call < 60; ++call) {
        execute(*plan, o);
        wrong += std::all_of(own.begin(), own.end(), [](double c) { return c == double(n); }) ? 0 : 1;
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST_F(LearningTest, NothingLearnsUnasked) {
  Context context(options());
  Context::Impl& impl = Access::impl(context);
  EXPECT_EQ(find_plan(impl, ones(), {.threads = 1})->runner->learned(), "");
  EXPECT_EQ(find_plan(impl, ones(), {.threads = 1, .learn = Learn::off})->runner->learned(), "");
  EXPECT_EQ(
      find_plan(impl, ones(), {.objective = Objective::energy, .learn = Learn::calls})->runner->learned(), "")
      << "times say nothing of energy";
  GemmProblem small = ones();
  small.batch_count = 1;
  EXPECT_EQ(find_plan(impl, small, {.learn = Learn::calls})->runner->learned(), "")
      << "too short to be timed";
  ::setenv("TILEWRIGHT_LEARN", "calls", 1);
  Context learner(options());
  ::setenv("TILEWRIGHT_LEARN", "sometimes", 1);
  EXPECT_THROW(Context other(options()), Error);
  ::unsetenv("TILEWRIGHT_LEARN");
  EXPECT_NE(find_plan(Access::impl(learner), ones(), {})->runner->learned(), "");
  EXPECT_EQ(find_plan(Access::impl(learner), ones(), {.learn = Learn::off})->runner->learned(), "");
}

}  // namespace
}  // namespace tilewright::testing
