// What it takes to add an operation: a folder (copy_scale/), a line of the tool's list and one of wisdom's
// families. It is planned, tuned, kept, found again, explained, measured and listed as any other.
#include <gtest/gtest.h>

#include <fstream>

#include "operations/copy_scale/plan.hpp"
#include "operations/copy_scale/tune.hpp"
#include "operations/copy_scale/verbs.hpp"
#include "support/temp_folder.hpp"
#include "tune/session.hpp"
#include "verbs.hpp"

namespace tilewright::testing {
namespace {

using nlohmann::json;

const json best_config = to_json(CopyScaleConfig{64, true});

class ScalesTold : public TuneWatcher {
 public:
  void found(const TuneResult& result) override { results.push_back(result); }
  void kept(const std::vector<WisdomRecord>& found, const std::vector<bool>&) override {
    records.push_back(found.front());
  }
  std::vector<TuneResult> results;
  std::vector<WisdomRecord> records;
};

TEST(CopyScaleOperation, IsTunedKeptAndFoundAgain) {
  add_copy_scale_family();
  const TempFolder folder;
  const std::string wisdom = folder / "w.sqlite";
  WisdomStore store(wisdom, sqlite::Mode::write);
  ScalesTold told;
  const auto run = [&](bool resume) {
    SessionOptions options;
    options.budget_s = 1e-3;
    options.clock = BudgetClock::of_turns();
    options.log = {.path = folder / "sweep.jsonl", .resume = resume};
    options.store = &store;
    const Wisdom known({wisdom}, copy_scale_device);
    Operations operations;
    operations.push_back(copy_scale_operation({1000}, &known));
    return TuneSession(options, std::move(operations), told).run();
  };
  EXPECT_EQ(run(false).done, 1);
  ASSERT_EQ(told.results.size(), 1u);
  const TuneResult first = told.results[0];
  EXPECT_EQ(first.config, best_config);
  EXPECT_EQ(first.wrong, 5) << "1000 elements are no whole chunks of any of these sizes";
  EXPECT_EQ(first.wrongs.at(0).reason, "it writes behind y");
  EXPECT_NEAR(first.regret, 0.3, 1e-9) << "8 is three powers of two from 64";
  const Wisdom known({wisdom}, copy_scale_device);
  EXPECT_EQ(known.records().size(), 6u) << "those that failed as well";
  EXPECT_EQ(known.records_of("copy_scale")->size(), 1u);
  // The same log: nothing is searched, and the record is the same.
  EXPECT_EQ(run(true).searched, 0);
  ASSERT_EQ(told.records.size(), 2u);
  EXPECT_EQ(to_json(told.records[1]), to_json(told.records[0]));
  // A log of its own: what wisdom knows is found, and stays.
  EXPECT_EQ(copy_scale_operation({1000}, &known)->known({}), first.config);
  EXPECT_EQ(copy_scale_operation({999}, &known)->known({}), std::nullopt);
  EXPECT_EQ(run(false).searched, 1);
  EXPECT_EQ(told.results.at(1).config, first.config);
}

TEST(CopyScaleOperation, KeepsWhatIsKnownWhereTheBudgetIsGone) {
  add_copy_scale_family();
  const TempFolder folder;
  const std::string wisdom = folder / "w.sqlite";
  WisdomStore store(wisdom, sqlite::Mode::write);
  WisdomRecord slow;
  slow.family = "copy_scale", slow.problem = to_string(CopyScaleProblem{1000});
  slow.config = to_json(CopyScaleConfig{256, true});
  slow.device = copy_scale_device, slow.source_hash = "its source";
  store.put(slow);
  const Wisdom known({wisdom}, copy_scale_device);
  SessionOptions options;
  options.budget_s = 1;
  options.at_least_one = true;
  double now = 0;
  options.clock = {[&now] { return now += 2; }, [](double) {}};  // every look at the clock finds it too late
  ScalesTold told;
  Operations operations;
  operations.push_back(copy_scale_operation({1000}, &known));
  EXPECT_EQ(TuneSession(options, std::move(operations), told).run().done, 1);
  ASSERT_EQ(told.results.size(), 1u);
  EXPECT_EQ(told.results[0].measured, 1) << "at least one, whatever the budget";
  EXPECT_FALSE(told.results[0].decided);
  EXPECT_EQ(told.results[0].config, slow.config);
}

TEST(CopyScaleOperation, IsNotWeighed) {
  SessionOptions options;
  options.objective = TuneObjective::parse("edp");
  ScalesTold told;
  Operations operations;
  operations.push_back(copy_scale_operation({10}, nullptr));
  try {
    TuneSession(options, std::move(operations), told);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.argument(), "objective");
    EXPECT_NE(std::string(error.what()).find("copy_scale:f64:n=10 is tuned for time only"),
              std::string::npos);
  }
}

// The verbs in this process, with an operation more than the tool's.
class CopyScaleTool : public ::testing::Test {
 protected:
  CopyScaleTool() {
    add_copy_scale_family();
    setenv("TILEWRIGHT_WISDOM", wisdom_.c_str(), 1);
    operations_.push_back(&copy_scale_verbs());
  }
  ~CopyScaleTool() override { unsetenv("TILEWRIGHT_WISDOM"); }

  // Returns what is printed for people; rows() then has the lines of --json.
  std::string run(const std::string& arguments) {
    CLI::App app;
    cli::add_explain(app, operations_);
    cli::add_tune(app, operations_);
    cli::add_bench(app, operations_);
    cli::add_wisdom(app);
    std::filesystem::remove(json_);
    ::testing::internal::CaptureStdout();
    try {
      app.parse(arguments + " --json " + json_, false);
    } catch (...) {
      (void)::testing::internal::GetCapturedStdout();
      throw;
    }
    return ::testing::internal::GetCapturedStdout();
  }
  std::string refusal(const std::string& arguments) {
    try {
      run(arguments);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  }
  std::vector<json> rows() const {
    std::vector<json> all;
    std::ifstream file(json_);
    for (std::string line; std::getline(file, line);) all.push_back(json::parse(line));
    return all;
  }
  std::string tune() {
    return run("tune copy_scale:f64:n=1000 --clock turns --budget 0.001 --sweep " +
               (folder_ / "sweep.jsonl"));
  }

  TempFolder folder_;
  const std::string wisdom_ = folder_ / "w.sqlite", json_ = folder_ / "out.jsonl";
  cli::ToolOperations operations_ = cli::tool_operations();
};

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST_F(CopyScaleTool, IsExplainedByWhatWasTuned) {
  const std::string before = run("explain --all copy_scale:f64:n=1000 copy_scale:f64:n=3 lu:f64:m=9,n=9");
  EXPECT_TRUE(has(before,
                  "copy_scale:f64:n=1000\n  chunks: taken; chunks of 8\n  wisdom: default (rule of thumb)\n"
                  "  elements: not taken; supports it, but chunks ranks higher\n"))
      << before;
  EXPECT_TRUE(has(before, "elements: taken;")) << before;
  EXPECT_TRUE(has(before, "lu:f64:m=9,n=9\n")) << before;
  ASSERT_EQ(rows().size(), 3u);
  EXPECT_EQ(rows()[0]["candidate"], "chunks");
  EXPECT_EQ(rows()[0]["candidates"][1]["name"], "elements");
  EXPECT_EQ(rows()[0]["wisdom_match"], "default");

  const std::string told = tune();
  EXPECT_TRUE(has(told, "copy_scale f64 n=1000                      1.3 us      1 us  +30.0 %")) << told;
  ASSERT_EQ(rows().size(), 1u);
  EXPECT_EQ(rows()[0]["family"], "copy_scale");
  EXPECT_EQ(rows()[0]["config"], best_config);
  EXPECT_NEAR(rows()[0]["gflops"].get<double>(), 1, 1e-6);

  const std::string after = run("explain copy_scale:f64:n=1000");
  EXPECT_TRUE(has(after, "wisdom: exact (" + wisdom_)) << after;
  EXPECT_TRUE(has(after, "chunks: taken; chunks of 64\n")) << after;
  EXPECT_EQ(rows()[0]["config"], best_config);
  EXPECT_NEAR(rows()[0]["regret"].get<double>(), 0.3, 1e-6);
  run("explain copy_scale:f64:n=1001");
  EXPECT_EQ(rows()[0]["wisdom_match"], "default");
}

TEST_F(CopyScaleTool, IsListedByWisdom) {
  tune();
  const std::string told = run("wisdom list copy_scale");
  EXPECT_TRUE(has(told, "copy_scale f64 n=1000    1 us +30.0 %     0 %")) << told;
  int current = 0;
  for (const json& row : rows()) current += row["state"] == "current";
  EXPECT_EQ(current, 1) << "the others failed";
}

TEST_F(CopyScaleTool, IsMeasuredBesideItsPeer) {
  tune();
  const std::string told = run("bench copy_scale --sizes 1000,2000 --repetitions 3 --scale 2");
  EXPECT_TRUE(has(told, "copy_scale:f64:n=1000  tilewright")) << told;
  EXPECT_TRUE(has(told, "copy_scale:f64:n=2000  memcpy")) << told;
  EXPECT_TRUE(has(told, "best peer / tilewright")) << told;
  const auto all = rows();
  ASSERT_EQ(all.size(), 6u) << "the command, two rows of each case, and the summary";
  EXPECT_EQ(all[1]["impl"], "tilewright");
  EXPECT_EQ(all[1]["config"], best_config);
  EXPECT_EQ(all[1]["wisdom_match"], "exact");
  EXPECT_EQ(all[2]["impl"], "memcpy");
  EXPECT_EQ(all[3]["wisdom_match"], "default");
  for (std::size_t i = 1; i < 5; ++i) {
    EXPECT_GT(all[i]["bound_share"].get<double>(), 0);
    EXPECT_LE(all[i]["bound_share"].get<double>(), 1);
  }
  EXPECT_EQ(all[5]["summary"], true);
  EXPECT_EQ(all[5]["family"], "copy_scale");
  EXPECT_GT(all[5]["ratio_geomean"].get<double>(), 0);
}

TEST_F(CopyScaleTool, RefusesWhatIsOfOthers) {
  EXPECT_EQ(refusal("tune lu:f64:m=2000,n=2000 copy_scale:f64:n=8"),
            "factorizations and scaled copies are not tuned in one run: name either");
  EXPECT_EQ(refusal("tune copy_scale:f64:n=8 --beta 1"), "--beta does not apply to scaled copies");
  EXPECT_EQ(refusal("bench copy_scale --op nt"), "--op does not apply to 'bench copy_scale'");
  EXPECT_EQ(refusal("bench copy_scale --nb 64"), "--nb does not apply to 'bench copy_scale'");
  EXPECT_EQ(refusal("bench lu --scale 2"), "--scale does not apply to 'bench lu'");
  EXPECT_EQ(refusal("bench copy_scale --peers libxsmm"),
            "--peers = 'libxsmm' is not one of auto, none, memcpy");
  EXPECT_EQ(refusal("bench copy_scale --sizes 4x4"), "--sizes = '4x4' is not one number");
  EXPECT_EQ(refusal("explain copy_scale:f32:n=8"),
            "problem 'copy_scale:f32:n=8' is not of the form copy_scale:f64:n=...");
}

}  // namespace
}  // namespace tilewright::testing
