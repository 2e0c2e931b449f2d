// Tuning of factorizations: what is found is kept, taken by calls on the same and on near problems, left
// alone where the caller says who factors, and found again from a log. How good the winner is, no test can
// say.
#include <gtest/gtest.h>

#include <fstream>

#include "core/problem.hpp"
#include "lu/calls.hpp"
#include "lu/candidates.hpp"
#include "support/temp_folder.hpp"
#include "tilewright/lu.hpp"
#include "tune/lu/operation.hpp"
#include "tune/session.hpp"
#include "wisdom/families.hpp"
#include "wisdom/store.hpp"

namespace tilewright {
namespace {

LuProblem square(std::int64_t n) { return parse_lu_problem(fmt::format("lu:f64:m={},n={}", n, n)); }

class LuTune : public ::testing::Test {
 protected:
  std::string wisdom_file() const { return folder_ / "wisdom.sqlite"; }
  Context context() const { return Context({.wisdom = wisdom_file(), .notices = false}); }

  // A record that says so, whatever would be measured.
  void keep(const LuProblem& problem, const LuConfig& config) const {
    WisdomStore store(wisdom_file(), sqlite::Mode::write);
    WisdomRecord record;
    record.family = "lu", record.problem = to_string(problem), record.config = to_json(config);
    Context any({.use_wisdom = false});
    record.device = lu_device_name(any, problem, 0);
    record.source_hash = current_source_hash("lu");
    record.seconds = 1e-3, record.seconds_low = 0.9e-3, record.seconds_high = 1.1e-3, record.samples = 12;
    record.time = "2026-01-01T00:00:00Z";
    store.put(record);
  }

  // Returns the candidate that factors an n x n matrix, and the columns of its panels.
  LuConfig runs(std::int64_t n, const LuOptions& options = {}) const {
    Context context = this->context();
    std::vector<double> a(std::size_t(n * n));
    for (std::int64_t i = 0; i < n; ++i) a[std::size_t(i * n + i)] = double(i + 1);
    std::vector<std::int64_t> pivots(static_cast<std::size_t>(n));
    const LuReport report = lu_factor(context, n, n, a.data(), n, pivots.data(), options);
    EXPECT_EQ(report.info, 0);
    return {report.candidate, report.nb};
  }

  TempFolder folder_;
};

TEST(LuText, IsReadAsItIsWritten) {
  const LuProblem padded{DType::c64, 30, 20, 32, Location::device};
  EXPECT_EQ(to_string(padded), "lu:c64:m=30,n=20:lda=32:location=device");
  EXPECT_EQ(parse_lu_problem(to_string(padded)), padded);
  EXPECT_EQ(parse_lu_problem("lu:f64:m=1e3,n=1e3"), (LuProblem{DType::f64, 1000, 1000, 1000}));
  for (const char* wrong :
       {"lu", "lu:f64", "lu:f65:m=3,n=3", "lu:f64:m=3", "lu:f64:n=3,m=3", "lu:f64:m=3,n=3.5",
        "lu:f64:m=3,n=3:ldb=4", "lu:f64:m=3,n=3:location=moon", "lu:f64:m=3,n=x"})
    try {
      parse_lu_problem(wrong);
      ADD_FAILURE() << wrong;
    } catch (const Error& error) {
      EXPECT_EQ(error.argument(), "problem") << wrong;
    }
}

TEST_F(LuTune, ARecordIsTakenForItsProblemAndThoseNearIt) {
  const LuProblem tuned = square(300);
  keep(tuned, {"blocked", 48});
  EXPECT_EQ(runs(300), (LuConfig{"blocked", 48}));
  EXPECT_EQ(runs(350), (LuConfig{"blocked", 48}));
  EXPECT_NE(runs(700), (LuConfig{"blocked", 48})) << "too far away";
  LuOptions own;
  own.candidate = "reference";
  EXPECT_EQ(runs(300, own).candidate, "reference");
  own = {}, own.candidate = "blocked", own.nb = 64;
  EXPECT_EQ(runs(300, own), (LuConfig{"blocked", 64}));
  Context context = this->context();
  const std::string text = explain_lu(context, square(330));
  EXPECT_NE(text.find("near_shape"), std::string::npos) << text;
  EXPECT_NE(text.find("of lu:f64:m=300,n=300): blocked with nb=48"), std::string::npos) << text;
  EXPECT_NE(text.find("blocked: taken; panels of nb=48"), std::string::npos) << text;
}

// On a machine without a GPU, too, where nobody serves it.
TEST_F(LuTune, DeviceProblemsAreExplainedAnywhere) {
  Context context = this->context();
  const LuProblem there = parse_lu_problem("lu:f64:m=300,n=300:location=device");
  const std::string text = explain_lu(context, there);
  EXPECT_NE(text.find("panels: "), std::string::npos) << text;
  const std::string who = lu_candidate(context, there);
  const bool serves = text.find(": taken") != std::string::npos;
  EXPECT_EQ(who.empty(), !serves);
  if (serves) return;
  try {
    plan_lu(context, there);
    ADD_FAILURE() << "nobody serves it";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::unsupported);
    EXPECT_NE(std::string(error.what()).find("location=device: panels: "), std::string::npos) << error.what();
  }
}

TEST_F(LuTune, ARecordThatCannotServeIsPassedOver) {
  const LuConfig standard = runs(300);
  for (const LuConfig config : {LuConfig{"streamed", 128}, LuConfig{"no_such", 0}}) {
    keep(square(300), config);
    EXPECT_EQ(runs(300), standard) << config.candidate;
  }
  // Of two that are equally near the user's comes first; there is one here, and a newer one takes its place.
  keep(square(300), {"blocked", 96});
  EXPECT_EQ(runs(300), (LuConfig{"blocked", 96}));
}

class LuFound : public TuneWatcher {
 public:
  void found(const TuneResult& result) override { results.push_back(result); }
  void kept(const std::vector<WisdomRecord>& found, const std::vector<bool>&) override {
    records.push_back(found.front());
  }
  bool stop(std::size_t, std::int64_t, double) override { return stops; }

  std::vector<TuneResult> results;
  std::vector<WisdomRecord> records;
  bool stops = false;
};

SessionReport tune_lu(Context& context, std::int64_t n, const LuTuning& how, const SessionOptions& options,
                      LuFound& found) {
  Operations operations;
  operations.push_back(lu_operation(context, square(n), how));
  return TuneSession(options, std::move(operations), found).run();
}

TEST_F(LuTune, FindsKeepsAndGoesOnFromItsLog) {
  LuTuning how;
  how.rules.choices = {{"candidate", {"blocked"}}, {"nb", {32, 64}}};
  SessionOptions options;
  options.budget_s = 0.4;
  options.clock = BudgetClock::of_turns();
  options.log.path = folder_ / "sweep.jsonl";
  LuFound found;
  {
    Context context = this->context();
    WisdomStore store(wisdom_file(), sqlite::Mode::write);
    options.store = &store;
    const SessionReport report = tune_lu(context, 260, how, options, found);
    EXPECT_EQ(report.ended, "");
    EXPECT_EQ(report.done, 1);
  }
  ASSERT_EQ(found.results.size(), 1u);
  EXPECT_EQ(found.results[0].candidates, 3) << "the default besides";
  EXPECT_GT(found.results[0].seconds.centre, 0);
  EXPECT_LT(found.results[0].accuracy.error, 30);
  EXPECT_EQ(found.records.at(0).family, "lu");
  const auto won = from_json<LuConfig>(found.results[0].config);
  EXPECT_EQ(runs(260).candidate, won.candidate);
  // Again from the log: nothing is searched, and the record is the same.
  Context context = this->context();
  options.log.resume = true, options.store = nullptr;
  options.budget_s = 1e-9;
  EXPECT_EQ(tune_lu(context, 260, how, options, found).searched, 0);
  ASSERT_EQ(found.records.size(), 2u);
  EXPECT_EQ(to_json(found.records[1]), to_json(found.records[0]));
  // Another run's log is refused, and so is an axis that does not exist.
  how.rules.choices[1].values = {128};
  EXPECT_THROW(tune_lu(context, 260, how, options, found), Error);
  options.log = {}, how.rules.choices[0].values = {"no_such"};
  EXPECT_THROW(tune_lu(context, 260, how, options, found), Error);
  EXPECT_THROW(lu_operation(context, square(100)), Error) << "calls would not look for it";
  how.rules.choices[1].axis = "rows";
  EXPECT_THROW(lu_operation(context, square(260), how), Error);
}

// A log as it was written when factorizations had a session of their own: its turns and its verdicts count.
TEST_F(LuTune, GoesOnFromAnOlderLog) {
  Context context = this->context();
  const LuProblem problem = square(260);
  const std::string name = to_string(problem), device = lu_device_name(context, problem, 0);
  const nlohmann::json head = {
      {"devices", {{"host", device}}},
      {"operation", "lu"},
      {"set", {{{"axis", "candidate"}, {"values", {"blocked"}}}, {{"axis", "nb"}, {"values", {32, 64}}}}},
      {"source_hash", current_source_hash("lu")},
      {"strategy", "exhaustive"},
      {"threads", 0}};
  nlohmann::json record = {{"family", "lu"},   {"problem", name},
                           {"device", device}, {"config", {{"candidate", "blocked"}, {"nb", 64}}},
                           {"seconds", 1e-3},  {"source_hash", current_source_hash("lu")},
                           {"regret", 0.5},    {"tie", false}};
  const std::string log =
      nlohmann::json{{"run", head}}.dump() + "\n" +
      nlohmann::json{
          {"problem", name}, {"stage", "screen"}, {"seconds", 2e-3}, {"config", nlohmann::json::object()}}
          .dump() +
      "\n";
  LuTuning how;
  how.rules.choices = {{"candidate", {"blocked"}}, {"nb", {32, 64}}};
  SessionOptions options;
  options.log = {.path = folder_.write("sweep.jsonl", log), .resume = true};
  LuFound found;
  Operations operations;
  operations.push_back(lu_operation(context, problem, how));
  EXPECT_EQ(TuneSession(options, std::move(operations), found).kept_turns(), 1);
  options.log.path =
      folder_.write("done.jsonl", log + nlohmann::json{{"problem", name}, {"result", record}}.dump() + "\n");
  EXPECT_EQ(tune_lu(context, 260, how, options, found).searched, 0);
  EXPECT_EQ(found.records.at(0).config.at("nb"), 64);
  EXPECT_EQ(paired_regret(found.records[0]), 0.5);
}

TEST_F(LuTune, EndsWhenItIsTold) {
  Context context = this->context();
  LuFound found;
  found.stops = true;
  const SessionReport report = tune_lu(context, 260, {}, {}, found);
  EXPECT_TRUE(report.stopped);
  EXPECT_EQ(report.done, 0);
  EXPECT_TRUE(found.results.empty());
}

}  // namespace
}  // namespace tilewright
