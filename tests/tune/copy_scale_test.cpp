// An operation that nothing in the library knows, y = a x, is tuned, kept in wisdom and found again: what an
// operation has to bring is below, and one line hands it to a session.
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "support/temp_folder.hpp"
#include "tune/session.hpp"
#include "wisdom/wisdom.hpp"

namespace tilewright {

// Elements are copied in chunks; a wrong kind of tail writes whole chunks, and so behind y.
struct CopyScaleConfig {
  int chunk = 8;
  bool exact_tail = true;
  friend bool operator==(const CopyScaleConfig&, const CopyScaleConfig&) = default;
};
template <>
struct FieldList<CopyScaleConfig> {
  static constexpr auto value = std::make_tuple(field("chunk", &CopyScaleConfig::chunk),
                                                field("exact_tail", &CopyScaleConfig::exact_tail));
};

namespace {

void copy_scale(const CopyScaleConfig& config, double a, const std::vector<double>& x, std::size_t count,
                std::vector<double>& y) {
  const auto chunk = std::size_t(config.chunk);
  for (std::size_t begin = 0; begin < count; begin += chunk) {
    const std::size_t end = config.exact_tail ? std::min(begin + chunk, count) : begin + chunk;
    for (std::size_t i = begin; i < end; ++i) y[i] = a * x[i];
  }
}

class CopyScalePool : public PoolOf<CopyScaleConfig> {
 public:
  CopyScalePool(std::size_t count, std::vector<CopyScaleConfig> configs)
      : PoolOf(std::move(configs)), count_(count) {}
  Origin origin() const override { return {"copy_scale", "a machine", "", "", "hash", "nobody"}; }

 private:
  CheckResult check(std::size_t i) override {
    constexpr std::size_t guard = 1024;
    std::vector<double> x(count_ + guard), y(count_ + guard, std::nan(""));
    std::iota(x.begin(), x.end(), 1.0);
    copy_scale(configs_[i], 3, x, count_, y);
    for (std::size_t e = 0; e < y.size(); ++e)
      if (e < count_ ? y[e] != 3 * x[e] : !std::isnan(y[e]))
        return {e < count_ ? "an element is wrong" : "it writes behind y", {}};
    return {"", {0, 1e-16}};
  }
  // As a machine might that likes 64 best; nothing is waited for.
  TurnTimer::Turn time_made(std::size_t i, double) override {
    return {1e-9 * double(count_) * (1 + 0.1 * std::abs(std::log2(configs_[i].chunk) - 6)), 1};
  }

  std::size_t count_;
};

class CopyScale : public Operation {
 public:
  CopyScale(std::size_t count, std::string wisdom) : count_(count), wisdom_(std::move(wisdom)) {}

  std::string text() const override { return fmt::format("copy_scale:f64:n={}", count_); }
  const SearchPace& pace() const override {
    static constexpr SearchPace pace{1e-6, 1e-6, 1e-6, 1e-6, 0.5, 0.7, 0.03};
    return pace;
  }
  std::optional<nlohmann::json> known(const TuneObjective& objective) const override {
    for (const WisdomRecord& record : Wisdom({wisdom_}, "a machine").records())
      if (record.family == "copy_scale" && record.problem == text() && record.passed() &&
          record.objective == objective.text())
        return record.config;
    return std::nullopt;
  }
  OpenProblem open(const std::optional<nlohmann::json>& incumbent, double) override {
    std::vector<CopyScaleConfig> configs{{}};
    for (const int chunk : {16, 32, 64, 128, 256})
      for (const bool exact : {true, false}) configs.push_back({chunk, exact});
    OpenProblem open{.subject = text()};
    if (incumbent) {
      const auto at = std::find(configs.begin(), configs.end(), from_json<CopyScaleConfig>(*incumbent));
      if (at != configs.end()) open.incumbent = std::size_t(at - configs.begin());
    }
    open.pool = std::make_unique<CopyScalePool>(count_, configs);
    return open;
  }

 private:
  std::size_t count_;
  std::string wisdom_;
};

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
    Operations operations;
    operations.push_back(std::make_unique<CopyScale>(1000, wisdom));
    return TuneSession(options, std::move(operations), told).run();
  };
  EXPECT_EQ(run(false).done, 1);
  ASSERT_EQ(told.results.size(), 1u);
  const TuneResult first = told.results[0];
  EXPECT_EQ(first.config, to_json(CopyScaleConfig{64, true}));
  EXPECT_EQ(first.wrong, 5) << "1000 elements are no whole chunks of any of these sizes";
  EXPECT_EQ(first.wrongs.at(0).reason, "it writes behind y");
  EXPECT_NEAR(first.regret, 0.3, 1e-9) << "8 is three powers of two from 64";
  const auto kept = Wisdom({wisdom}, "a machine").records();
  EXPECT_EQ(std::count_if(kept.begin(), kept.end(), [](const auto& r) { return r.passed(); }), 1);
  EXPECT_EQ(kept.size(), 6u) << "those that failed as well";
  // The same log: nothing is searched, and the record is the same.
  EXPECT_EQ(run(true).searched, 0);
  ASSERT_EQ(told.records.size(), 2u);
  EXPECT_EQ(to_json(told.records[1]), to_json(told.records[0]));
  // A log of its own: what wisdom knows is found, and stays.
  EXPECT_EQ(CopyScale(1000, wisdom).known({}), first.config);
  EXPECT_EQ(CopyScale(999, wisdom).known({}), std::nullopt);
  EXPECT_EQ(run(false).searched, 1);
  EXPECT_EQ(told.results.at(1).config, first.config);
}

TEST(CopyScaleOperation, IsNotWeighed) {
  SessionOptions options;
  options.objective = TuneObjective::parse("edp");
  ScalesTold told;
  Operations operations;
  operations.push_back(std::make_unique<CopyScale>(10, ""));
  try {
    TuneSession(options, std::move(operations), told);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.argument(), "objective");
    EXPECT_NE(std::string(error.what()).find("copy_scale:f64:n=10 is tuned for time only"),
              std::string::npos);
  }
}

}  // namespace
}  // namespace tilewright
