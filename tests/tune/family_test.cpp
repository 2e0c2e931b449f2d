// A family is a folder (support/dummy_family) and a line each of the tuner's list, of the candidates and of
// wisdom: one that nothing in the library knows is searched, kept, looked up and planned, and a session over
// several problems and families shares out, resumes and refuses as for any.
#include <gtest/gtest.h>

#include <fstream>

#include "gemm/plan.hpp"
#include "kernel/jit/x86.hpp"
#include "support/dummy_family/tune.hpp"
#include "support/temp_folder.hpp"
#include "tune/session.hpp"
#include "wisdom/wisdom.hpp"

namespace tilewright {
namespace {

class Told : public TuneWatcher {
 public:
  void found(const TuneResult& result) override { results.push_back(result); }
  void kept(const std::vector<WisdomRecord>& found, const std::vector<bool>&) override {
    records.push_back(to_json(found.front()));
  }
  bool stop(std::size_t, std::int64_t done, double) override { return done == stop_after; }

  std::vector<TuneResult> results;
  std::vector<nlohmann::json> records;
  std::int64_t stop_after = -1;
};

class FamilySession : public ::testing::Test {
 protected:
  FamilySession() {
    add_dummy_family();
    how_.families.insert(how_.families.begin(), &dummy_family());
    options_.budget_s = 1;
  }
  SessionReport run(const std::vector<GemmProblem>& problems, Told& told) {
    TuneMachine machine(jit_available(Isa::avx2) ? Isa::avx2 : Isa::portable);
    return TuneSession(options_, product_operations(problems, machine, how_), told).run();
  }
  const GemmProblem large_ = parse_problem("gemm:f32:nn:m=100,n=100,k=100:residency=cold");
  const GemmProblem small_ = parse_problem("gemm_batched:f64:nn:m=4,n=4,k=4:strided:batch=1:residency=l1");
  SessionOptions options_;
  ProductTuning how_;
  TempFolder folder_;
};

TEST_F(FamilySession, AFamilyOfItsOwnFileIsSearchedKeptAndLookedUp) {
  WisdomStore store(folder_ / "w.sqlite", sqlite::Mode::write);
  options_.store = &store;
  Told told;
  const SessionReport report = run({large_, small_}, told);
  EXPECT_EQ(report.done, 2);
  ASSERT_EQ(told.results.size(), 2u);
  EXPECT_EQ(told.results[0].origin.family, "dummy");
  EXPECT_EQ(told.results[0].config, nlohmann::json({{"units", 5}}));
  EXPECT_EQ(told.results[1].origin.family, "gemm_small_cpu");
  EXPECT_EQ(store.count(), 2);
  const Wisdom wisdom({folder_ / "w.sqlite"}, "a machine");
  nlohmann::json found;
  wisdom.offer({"dummy", "", large_, "time", "a machine"}, [&](const WisdomAnswer& answer) {
    found = answer.match == WisdomMatch::exact ? answer.config : nlohmann::json();
    return true;
  });
  EXPECT_EQ(found, nlohmann::json({{"units", 5}}));
}

TEST_F(FamilySession, AFamilyOfItsOwnFolderIsPlannedByWhatWasTuned) {
  WisdomStore store(folder_ / "w.sqlite", sqlite::Mode::write);
  options_.store = &store;
  std::vector<GemmCandidate> list(gemm_candidates().begin(), gemm_candidates().end());
  list.insert(list.begin(), dummy_candidate);
  const auto planned = [&] {
    Context context({.wisdom = folder_ / "w.sqlite", .notices = false});
    Access::impl(context).candidates = list;
    const GemmPlan made = plan(context, large_, {.candidate = dummy_name});
    return std::pair(Access::impl(made).known.match, Access::impl(made).runner->config());
  };
  EXPECT_EQ(planned(), std::pair(WisdomMatch::none, to_json(DummyConfig{})));
  Told told;
  run({large_}, told);
  EXPECT_EQ(planned(), std::pair(WisdomMatch::exact, to_json(DummyConfig{5})));
}

TEST_F(FamilySession, WhatWisdomKnowsIsTheIncumbent) {
  how_.known = [](const GemmProblem&) { return nlohmann::json({{"units", 6}}); };
  how_.rules.conditions = {AxisCondition::parse("units>=8")};
  Told told;
  run({large_}, told);
  EXPECT_EQ(told.results.at(0).config, nlohmann::json({{"units", 6}})) << "though the search leaves it out";
  EXPECT_EQ(told.results.at(0).regret > 0.1, true);
}

TEST_F(FamilySession, GoesOnFromItsLog) {
  options_.log.path = folder_ / "sweep.jsonl";
  Told first;
  first.stop_after = 1;
  const SessionReport stopped = run({large_, small_}, first);
  EXPECT_TRUE(stopped.stopped);
  EXPECT_EQ(stopped.done, 1);
  // The description of a run in its log does not change, or older logs could not be resumed.
  std::ifstream file(options_.log.path);
  std::string head;
  std::getline(file, head);
  nlohmann::json asked = nlohmann::json::parse(head).at("run");
  EXPECT_EQ(asked.at("source_hash").size(), 2u);
  for (const char* key : {"source_hash", "isa", "device"}) EXPECT_EQ(asked.erase(key), 1u) << key;
  EXPECT_EQ(asked, nlohmann::json::parse(
                       R"({"objective": "time", "strategy": "exhaustive",
                         "rules": {"whole_space": false, "most": 0, "vary": ""}})"));
  options_.log.resume = true;
  Told second;
  EXPECT_EQ(run({large_, small_}, second).done, 2);
  EXPECT_EQ(second.results.size(), 1u) << "the first is not searched again";
  EXPECT_EQ(second.records.at(0), first.records.at(0));
  options_.strategy = "random";
  EXPECT_THROW(run({large_, small_}, second), Error) << "another run's log";
}

TEST_F(FamilySession, RefusesWhatNoFamilyServesBeforeAnyWork) {
  Told told;
  const auto refused = [&](const std::string& text) -> std::string {
    try {
      run({large_, parse_problem(text)}, told);
    } catch (const Error& error) {
      return error.argument();
    }
    return "";
  };
  EXPECT_EQ(refused("gemm:f64:nn:m=100,n=100,k=100:residency=cold"), "problem");
  EXPECT_EQ(refused("gemm_batched:f64:nn:m=4,n=4,k=4:strided:batch=1"), "residency");
  EXPECT_EQ(refused("gemm_batched:f64:nn:m=4,n=4,k=4:variable:batch=1:residency=l1"), "layout");
  EXPECT_TRUE(told.results.empty());
  how_.rules.conditions = {AxisCondition::parse("units>=8")};
  EXPECT_EQ(refused("gemm_batched:f64:nn:m=4,n=4,k=4:strided:batch=1:residency=l1"), "--where");
}

}  // namespace
}  // namespace tilewright
