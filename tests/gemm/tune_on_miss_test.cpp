// Tuning from a program: what a miss asks of the tuner, when it does, what is refused, and that what was
// learned serves the next call. Most of it needs no measuring: the tuner is a function of the test.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <thread>
#include <vector>

#include "device/cpu.hpp"
#include "kernel/gemm_small_cpu/kernel.hpp"
#include "support/temp_folder.hpp"
#include "tilewright/gemm.hpp"
#include "tilewright/tilewright.h"
#include "tilewright/tilewright_tune.h"
#include "tilewright/tune.hpp"
#include "wisdom/store.hpp"
#include "wisdom/wisdom_files.hpp"

namespace tilewright {
namespace {

class TuneOnMissTest : public WisdomFolder {
 protected:
  ContextOptions options() const {
    ContextOptions made;
    made.cpu = "portable";
    made.wisdom = path("wisdom.sqlite");
    made.notices = false;
    return made;
  }

  // Four problems of n x n, unpacked, in every way a call can be made of them.
  void multiply(Context& context, std::int64_t n, const GemmOptions& how) {
    const std::int64_t ld = n + 3, stride = ld * n, count = 4;
    std::vector<double> a(std::size_t(stride * count), 1), c(a.size(), -1);
    const StridedBatch<double> in{{a.data(), n, n, ld}, stride, count},
        out{{c.data(), n, n, ld}, stride, count};
    gemm_batched(context, Op::none, Op::none, 1.0, in, in, 0.0, out, how);
    EXPECT_EQ(c[0], double(n));
  }

  // Keeps a record of a config that is not the default, as a tuner would.
  TuneHook recorder() {
    return [this](const TuneRequest& request) {
      asked.push_back(request);
      GemmSmallCpuConfig config = gemm_small_cpu_default(request.problem, Isa::portable);
      gemm_small_cpu_space(request.problem, Isa::portable).visit([&](const GemmSmallCpuConfig& one) {
        config = one;
        return true;
      });
      WisdomRecord kept = record(request.problem, 1, "somewhere");
      kept.config = to_json(config);
      WisdomStore(request.wisdom, sqlite::Mode::write).put(kept);
    };
  }

  static GemmOptions on_miss(double budget_s = 0.5) {
    GemmOptions how;
    how.tune_on_miss_s = budget_s;
    return how;
  }

  std::vector<TuneRequest> asked;
};

TEST_F(TuneOnMissTest, AsksOnceForEachProblem) {
  Context context(options());
  context.set_tuner(recorder());
  multiply(context, 5, {});
  EXPECT_TRUE(asked.empty()) << "unasked";
  multiply(context, 5, on_miss());
  ASSERT_EQ(asked.size(), 1u);
  EXPECT_EQ(to_string(asked[0].problem), "gemm_batched:f64:nn:m=5,n=5,k=5:strided:batch=1:residency=l1");
  EXPECT_EQ(asked[0].cpu, "portable");
  EXPECT_EQ(asked[0].wisdom, path("wisdom.sqlite"));
  EXPECT_EQ(asked[0].budget_s, 0.5);
  multiply(context, 5, on_miss());
  multiply(context, 5, on_miss(0.7));  // another plan of a problem that is known
  EXPECT_EQ(asked.size(), 1u);
  multiply(context, 6, on_miss());
  EXPECT_EQ(asked.size(), 2u);
}

TEST_F(TuneOnMissTest, WhatWasLearnedServesPlansMadeBefore) {
  Context context(options());
  context.set_tuner(recorder());
  GemmProblem p;
  p.m = p.n = p.k = 5;
  p.layout = Layout::strided;
  p.batch_count = 4;
  p = packed(p);
  const std::string before = explain(context, p);
  (void)plan(context, p);
  (void)plan(context, p, on_miss());
  EXPECT_EQ(before.find("(" + path("wisdom.sqlite")), std::string::npos);
  EXPECT_NE(plan(context, p).explain().find(path("wisdom.sqlite") + "#1"), std::string::npos)
      << plan(context, p).explain();
}

TEST_F(TuneOnMissTest, ConfigsThatAreNamedAndOtherCandidatesMissNothing) {
  Context context(options());
  context.set_tuner(recorder());
  GemmOptions named = on_miss();
  named.config = "{}";
  multiply(context, 5, named);
  named = on_miss();
  named.candidate = "reference";
  multiply(context, 5, named);
  EXPECT_TRUE(asked.empty());
}

TEST_F(TuneOnMissTest, ThreadsWaitForOneTuner) {
  Context context(options());
  context.set_tuner(recorder());
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back([&] { multiply(context, 7, on_miss()); });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(asked.size(), 1u);
}

TEST_F(TuneOnMissTest, AFailureOfTheTunerIsTheCallsAndIsTriedAgain) {
  Context context(options());
  int calls = 0;
  context.set_tuner([&](const TuneRequest&) {
    if (++calls == 1) throw Error(ErrorCode::io, "wisdom", "no room");
  });
  EXPECT_THROW(multiply(context, 5, on_miss()), Error);
  multiply(context, 5, on_miss());
  EXPECT_EQ(calls, 2);
}

TEST_F(TuneOnMissTest, Refusals) {
  const auto reason = [&](Context& context, double budget_s) -> std::string {
    try {
      multiply(context, 5, on_miss(budget_s));
    } catch (const Error& error) {
      return error.what();
    }
    return "accepted";
  };
  Context none(options());
  EXPECT_NE(reason(none, 0.5).find("install_tuner"), std::string::npos) << reason(none, 0.5);
  none.set_tuner(recorder());
  for (const double budget_s : {-1.0, std::nan("")})
    EXPECT_NE(reason(none, budget_s).find("tune_on_miss_s = "), std::string::npos);
  ContextOptions unwise = options();
  unwise.use_wisdom = false;
  Context forgetful(unwise);
  forgetful.set_tuner(recorder());
  EXPECT_NE(reason(forgetful, 0.5).find("wisdom"), std::string::npos);
  ContextOptions lines = options();
  lines.wisdom = folder_.write("wisdom.jsonl", "");
  Context reading(lines);
  reading.set_tuner(recorder());
  EXPECT_NE(reason(reading, 0.5).find("only read"), std::string::npos);
  EXPECT_TRUE(asked.empty());
}

TEST_F(TuneOnMissTest, TheTunerOfTheLibraryLearns) {
  Context context(options());
  install_tuner(context);
  multiply(context, 4, on_miss(0.2));
  GemmProblem p;
  p.m = p.n = p.k = 4;
  p.layout = Layout::strided;
  p.batch_count = 4;
  p = packed(p);
  EXPECT_NE(explain(context, p).find("exact (" + path("wisdom.sqlite")), std::string::npos)
      << explain(context, p);
  EXPECT_NE(explain(context, p).find("l1"), std::string::npos);
}

TEST_F(TuneOnMissTest, TunesProblemsByName) {
  Context context(options());
  GemmProblem p;
  p.m = p.n = 3, p.k = 2;
  p.residency = Residency::l1;
  (void)plan(context, packed(p));  // made before; the next one knows more
  const Tuned tuned = tune(context, p, {.budget_s = 0.2, .strategy = SearchStrategy::random});
  EXPECT_EQ(tuned.wisdom, path("wisdom.sqlite"));
  EXPECT_EQ(tuned.problem.n, 3);
  EXPECT_GT(tuned.seconds, 0);
  EXPECT_GE(tuned.measured, 1);
  EXPECT_EQ(from_json<GemmSmallCpuConfig>(nlohmann::json::parse(tuned.config)).isa, Isa::portable);
  EXPECT_NE(plan(context, packed(p)).explain().find("exact"), std::string::npos);
  EXPECT_THROW(tune(context, p, {0}), Error);
  EXPECT_THROW(tune(context, p, {.budget_s = 0.1, .objective = Objective::alpha}), Error);
  EXPECT_THROW(tune(context, p, {.budget_s = 0.1, .strategy = static_cast<SearchStrategy>(4)}), Error);
  p.m = 65;
  EXPECT_THROW(tune(context, p), Error);
}

TEST_F(TuneOnMissTest, ShippedRecordsAreIncumbentsOfTheirObjective) {
  GemmProblem p;
  p.m = p.n = p.k = 3;
  p.layout = Layout::strided;
  p.batch_count = 4;
  p.residency = Residency::l1;
  p = packed(p);
  // A legal config that is not the default and no slower, as if it had been measured on this machine.
  GemmSmallCpuConfig known = gemm_small_cpu_default(p, Isa::portable);
  known.prefetch_c = !known.prefetch_c;
  ASSERT_TRUE(gemm_small_cpu_space(p, Isa::portable).contains(known));
  const nlohmann::json record{{"family", "gemm_small_cpu"}, {"problem", to_string(p)},
                              {"config", to_json(known)},   {"device", cpu_info().device},
                              {"objective", "time"},        {"verdict", "passed"}};
  folder_.write("share/wisdom/cpu.jsonl", record.dump() + "\n");
  ASSERT_EQ(setenv("TILEWRIGHT_SHARE", path("share").c_str(), 1), 0);
  Context context(options());
  // In no time nothing is decided, and what was known stays.
  const Tuned tuned = tune(context, p, {1e-6});
  unsetenv("TILEWRIGHT_SHARE");
  EXPECT_EQ(nlohmann::json::parse(tuned.config), to_json(known));
}

TEST_F(TuneOnMissTest, ABudgetThatDoesNotPayForColdOperandsIsRefused) {
  Context context(options());
  GemmProblem p;
  p.m = p.n = p.k = 3;
  try {
    (void)tune(context, p, {1e-3});
    ADD_FAILURE() << "a millisecond paid for cold operands";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    EXPECT_NE(std::string(error.what()).find("budget_s = 0.001"), std::string::npos) << error.what();
  }
}

TEST_F(TuneOnMissTest, FromC) {
  tilewright_context* context = nullptr;
  ASSERT_EQ(tilewright_create("portable", path("wisdom.sqlite").c_str(), &context), TILEWRIGHT_OK);
  tilewright_options how{};
  how.tune_on_miss_s = 0.1;
  tilewright_plan* plan = nullptr;
  const char* problem = "gemm_batched:f32:nn:m=3,n=3,k=3:strided:batch=8:residency=l1";
  EXPECT_EQ(tilewright_plan_create(context, problem, &how, &plan), TILEWRIGHT_UNSUPPORTED);
  EXPECT_NE(std::string(tilewright_last_error(context)).find("tuner"), std::string::npos);
  EXPECT_EQ(tilewright_install_tuner(nullptr), TILEWRIGHT_INVALID_ARGUMENT);
  ASSERT_EQ(tilewright_install_tuner(context), TILEWRIGHT_OK);
  ASSERT_EQ(tilewright_plan_create(context, problem, &how, &plan), TILEWRIGHT_OK)
      << tilewright_last_error(context);
  EXPECT_NE(std::string(tilewright_plan_explain(plan)).find("exact"), std::string::npos);
  tilewright_plan_destroy(plan);
  const char* two[] = {"gemm_batched:f64:nn:m=3,n=3,k=3:strided:batch=8:residency=l1",
                       "gemm_batched:f64:nn:m=3,n=3,k=3:pointer:batch=8:residency=l1"};
  tilewright_tune_options search{};
  search.budget_s = 4;
  int asked = 0;
  search.progress_data = &asked;
  search.progress = [](void* data, const char*, std::int64_t, double) { return ++*static_cast<int*>(data); };
  tilewright_tuned tuned[2] = {};
  std::int64_t found = 0;
  ASSERT_EQ(tilewright_tune(context, two, 2, &search, tuned, &found), TILEWRIGHT_OK)
      << tilewright_last_error(context);
  ASSERT_EQ(found, 2);
  EXPECT_GT(tuned[1].seconds, 0);
  EXPECT_GT(asked, 1);
  two[1] = "gemm:f64:nn:m=65,n=4,k=4";
  EXPECT_EQ(tilewright_tune(context, two, 2, &search, tuned, &found), TILEWRIGHT_UNSUPPORTED);
  EXPECT_EQ(found, 0) << "nothing was filled";
  const auto refused = [&](const char* part) {
    EXPECT_EQ(tilewright_tune(context, two, 1, &search, tuned, &found), TILEWRIGHT_INVALID_ARGUMENT);
    EXPECT_EQ(std::string(tilewright_last_error(context)).rfind(part, 0), 0u)
        << tilewright_last_error(context);
  };
  search.objective = "speed";
  refused("objective = 'speed'");
  search.objective = nullptr, search.strategy = "annealing";
  refused("strategy = 'annealing'");
  search.strategy = nullptr, search.resume = 1;
  refused("resume = true needs a log");
  two[1] = nullptr;
  EXPECT_EQ(tilewright_tune(context, two, 2, nullptr, nullptr, nullptr), TILEWRIGHT_INVALID_ARGUMENT);
  tilewright_destroy(context);
}

}  // namespace
}  // namespace tilewright
