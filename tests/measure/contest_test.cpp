// Contests on made-up machines that are noisy, drift or lie, observers on made-up meters, and the log of a
// tuning run that is killed at every byte. No clock is read.
#include "measure/contest.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <random>

#include "measure/observer.hpp"
#include "support/fake_meter.hpp"
#include "support/temp_folder.hpp"
#include "tune/sweep_log.hpp"

namespace tilewright {
namespace {

// Costs with one percent of noise, and a machine whose speed follows `speed(turn)`.
class Machine {
 public:
  Machine(std::vector<double> costs, std::function<double(int)> speed, std::uint64_t seed)
      : costs_(std::move(costs)), speed_(std::move(speed)), random_(seed) {}
  double operator()(std::size_t i) {
    return costs_[i] * speed_(turn_++) * (1 + 0.01 * std::normal_distribution<>()(random_));
  }

 private:
  std::vector<double> costs_;
  std::function<double(int)> speed_;
  std::mt19937_64 random_;
  int turn_ = 0;
};

double steady(int) { return 1; }

Verdict contest(Machine machine, double tie, int rounds = 21) {
  ContestRules rules;
  rules.tie = tie;
  rules.most_rounds = rounds;
  return hold_contest(
      3, machine, [] { return true; }, rules);
}

TEST(Contest, AClearWinnerWins) {
  const Verdict verdict = contest(Machine({1, 0.9, 1.2}, steady, 1), 0.03);
  EXPECT_EQ(verdict.winner, 1u);
  EXPECT_TRUE(verdict.ties.empty());
  EXPECT_NEAR(verdict.ratios[1].centre, 0.9, 0.01);
  EXPECT_EQ(verdict.rounds, 21);
}

TEST(Contest, ATieIsDeclaredAndTheIncumbentStays) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    const Verdict verdict = contest(Machine({1, 0.985, 1.3}, steady, seed), 0.03);
    EXPECT_EQ(verdict.winner, 0u) << seed;
    EXPECT_EQ(verdict.ties, (std::vector<std::size_t>{1})) << seed;
  }
}

TEST(Contest, NoiseAloneRarelyUnseatsTheIncumbent) {
  int unseated = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed)
    unseated += contest(Machine({1, 1, 1}, steady, seed), 0.005, 9).winner != 0 ? 1 : 0;
  EXPECT_LE(unseated, 10) << "about the 2.5 % of a one-sided interval, for two challengers";
}

TEST(Contest, SlowDriftChangesNoRatio) {
  const auto warming = [](int turn) { return 1 + 0.001 * turn; };
  const Verdict verdict = contest(Machine({1, 0.93, 1.1}, warming, 5), 0.03);
  EXPECT_EQ(verdict.winner, 1u);
  EXPECT_NEAR(verdict.ratios[1].centre, 0.93, 0.02);
}

TEST(Contest, RoundsInWhichTheSentinelDriftedAreRunAgain) {
  // Every ninth turn the machine halves its speed for three turns.
  const auto unsteady = [](int turn) { return turn % 9 < 3 && turn > 8 ? 2.0 : 1.0; };
  const Verdict verdict = contest(Machine({1, 0.9, 1.2}, unsteady, 2), 0.03);
  EXPECT_GT(verdict.discarded, 0);
  EXPECT_EQ(verdict.rounds, 21);
}

TEST(Contest, EndsWhenThereIsNoMoreTime) {
  int asked = 0;
  const Verdict verdict = hold_contest(2, Machine({1, 1}, steady, 1), [&] { return ++asked <= 3; }, {});
  EXPECT_EQ(verdict.rounds + verdict.discarded, 3);
  const Verdict none = hold_contest(2, Machine({1, 0.1}, steady, 1), [] { return false; }, {});
  EXPECT_EQ(none.winner, 0u);
  EXPECT_EQ(none.rounds, 0);
}

TEST(Contest, TooFewRoundsDecideNothing) {
  for (const int rounds : {1, 3, 5}) {
    const Verdict verdict = contest(Machine({1, 0.5, 1.2}, steady, 1), 0.03, rounds);
    EXPECT_EQ(verdict.winner, 0u) << rounds;
    EXPECT_FALSE(verdict.decided) << rounds;
    EXPECT_TRUE(verdict.ties.empty()) << rounds;
  }
  const Verdict verdict = contest(Machine({1, 0.5, 1.2}, steady, 1), 0.03, least_paired_rounds);
  EXPECT_EQ(verdict.winner, 1u);
  EXPECT_TRUE(verdict.decided);
}

TEST(Contest, TheFirstRoundMayHaveDriftedToo) {
  // The machine warms up during the first round: its last turn is twice as fast as its first.
  const auto waking = [](int turn) { return turn < 2 ? 2.0 : 1.0; };
  const Verdict verdict = contest(Machine({1, 0.9, 1.2}, waking, 3), 0.03);
  EXPECT_EQ(verdict.discarded, 1);
  EXPECT_EQ(verdict.rounds, 21);
}

TEST(Contest, WhoMayNotWinDoesNot) {
  ContestRules rules;
  rules.most_rounds = 21;
  const auto held = [&](std::vector<double> costs) {
    return hold_contest(
        costs.size(), Machine(costs, steady, 1), [] { return true; }, rules);
  };
  rules.may_win = [](std::size_t i) { return i != 1; };
  EXPECT_EQ(held({1, 0.5, 0.8}).winner, 2u);
  EXPECT_EQ(held({1, 0.5, 1.2}).winner, 0u);
  rules.may_win = [](std::size_t i) { return i == 2; };
  EXPECT_EQ(held({1, 0.5, 1.2}).winner, 2u) << "the incumbent may not stay";
}

TEST(Observers, EnergyIsADifferenceOrAReason) {
  nlohmann::json seen;
  FakeMeter meter;
  EnergyObserver energy(&meter);
  EXPECT_THROW(energy.joules(), Error) << "nothing was observed yet";
  observe({&energy}, [](const auto& during) { during(); });
  energy.report(seen);
  EXPECT_EQ(seen["energy_j"], 3.0);
  EXPECT_EQ(seen["energy_of"], "1 CPU package");
  EXPECT_EQ(energy.joules(), 3.0);

  meter.step = 0;
  observe({&energy}, [](const auto&) {});
  EXPECT_THROW(energy.joules(), Error) << "a meter that stands still has failed";
  energy.report(seen);
  EXPECT_TRUE(seen["energy_j"].is_null());
  meter.step = 1, meter.shortest = 100;
  observe({&energy}, [](const auto&) {});
  EXPECT_THROW(energy.joules(), Error) << "too short for the meter";

  EnergyObserver none(nullptr, "rapl: absent");
  observe({&none}, [](const auto&) {});
  none.report(seen);
  EXPECT_EQ(seen["energy_note"], "rapl: absent");
  EXPECT_TRUE(seen["energy_j"].is_null());
}

class Folder : public ::testing::Test {
 protected:
  void put(const std::string& name, const std::string& text) { folder_.write(name, text); }

  TempFolder folder_;
  std::filesystem::path path_ = folder_.path();
};

TEST_F(Folder, RaplAddsPackagesAndSurvivesWrapping) {
  EXPECT_NE(find_energy_meters(path_.string()).why_none().find("does not exist"), std::string::npos);
  for (const char* package :
       {"class/powercap/intel-rapl:0/", "class/powercap/intel-rapl:1/", "class/powercap/intel-rapl:0:0/"}) {
    put(std::string(package) + "energy_uj", "900000");
    put(std::string(package) + "max_energy_range_uj", "1000000");
  }
  auto found = find_energy_meters(path_.string());
  ASSERT_EQ(found.meters.size(), 1u);
  const double begin = found.meters[0]->joules();
  put("class/powercap/intel-rapl:0/energy_uj", "950000");
  put("class/powercap/intel-rapl:1/energy_uj", "100000");
  EXPECT_NEAR(found.meters[0]->joules() - begin, 0.05 + 0.2, 1e-9);
  EXPECT_EQ(found.meters[0]->covers().text(), "2 CPU packages");
  std::filesystem::remove(path_ / "class/powercap/intel-rapl:1/energy_uj");
  EXPECT_THROW(found.meters[0]->joules(), Error);
}

TEST(EnergyMeters, AProblemIsChargedByTheMeterOfWhereItRuns) {
  EnergyMeters meters;
  meters.declined = {"nvml: no such device"};
  meters.meters.push_back(std::make_unique<FakeMeter>(EnergyCoverage{Location::device, "GPU-1", 0}));
  EXPECT_EQ(meters.meter_of(Location::host), nullptr);
  meters.meters.push_back(std::make_unique<FakeMeter>(EnergyCoverage{Location::host, "", 2}));
  EXPECT_EQ(meters.meter_of(Location::host)->covers().text(), "2 CPU packages");
  EXPECT_EQ(meters.meter_of(Location::device, "GPU-1")->covers().text(), "GPU GPU-1");
  EXPECT_EQ(meters.meter_of(Location::device, "GPU-2"), nullptr);
  EXPECT_EQ(&meters.required("edp", Location::host), meters.meters[1].get());
  try {
    (void)meters.required("edp", Location::device, "GPU-2");
    ADD_FAILURE() << "another GPU's meter was taken";
  } catch (const Error& error) {
    for (const char* part : {"edp", "GPU-2", "no such device", "2 CPU packages"})
      EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
  }
}

TEST_F(Folder, ClockAndTemperatureAreReadOrDeclined) {
  nlohmann::json seen;
  clock_observer(path_.string())->report(seen);
  EXPECT_TRUE(seen["clock_mhz_low"].is_null());
  EXPECT_TRUE(seen.contains("clock_mhz_note"));
  put("class/thermal/thermal_zone0/temp", "41000");
  put("class/thermal/thermal_zone1/temp", "55000");
  const auto temperature = temperature_observer(path_.string());
  observe({temperature.get()}, [&](const auto& during) {
    put("class/thermal/thermal_zone1/temp", "60500");
    during();
  });
  temperature->report(seen);
  EXPECT_EQ(seen["temperature_c_low"], 55.0);
  EXPECT_EQ(seen["temperature_c_high"], 60.5);
}

class SweepLogTest : public Folder {
 protected:
  static nlohmann::json run() { return {{"strategy", "model"}, {"source_hash", "abc"}}; }
  std::string file() const { return (path_ / "sweep.jsonl").string(); }
  void write_three() {
    SweepLog log(file(), run(), false);
    log.add_base("p", {{"nr", 1}});
    log.add_turn("p", "screen", {{"nr", 2}}, {1e-6, std::nullopt});
    log.add_turn("p", "screen", {{"nr", 2}}, {2e-6, 5.0});
    log.add_failure("p", {{"nr", 3}}, "wrong");
    log.add_passed("p", {{"nr", 2}}, {1e-16, 4e-16});
    log.add_turn("p", "final", {{"nr", 2}}, {3e-6, std::nullopt});
    WisdomRecord record;
    record.family = "none", record.problem = "none:q", record.device = "d", record.config = {{"nr", 2}};
    record.seconds = 1;
    log.add_result("q", {record});
  }
};

TEST_F(SweepLogTest, ResumingGivesBackEachTurnOnce) {
  write_three();
  SweepLog log(file(), run(), true);
  const std::string config = nlohmann::json{{"nr", 2}}.dump();
  EXPECT_EQ(log.kept(), 3);
  EXPECT_EQ(log.take("p", "screen", config)->seconds, 1e-6);
  EXPECT_EQ(log.take("p", "screen", config)->joules, 5.0);
  EXPECT_FALSE(log.take("p", "screen", config).has_value());
  EXPECT_EQ(log.take("p", "final", config)->seconds, 3e-6);
  EXPECT_EQ(log.failure("p", nlohmann::json{{"nr", 3}}.dump()), "wrong");
  EXPECT_EQ(log.passed("p", config)->error, 1e-16);
  EXPECT_EQ(log.passed("p", config)->bound, 4e-16);
  EXPECT_FALSE(log.passed("p", nlohmann::json{{"nr", 3}}.dump()).has_value());
  EXPECT_EQ(log.result("q").at(0).seconds, 1);
  EXPECT_TRUE(log.result("p").empty());
}

TEST_F(SweepLogTest, CutAtAnyByteNothingWholeIsLost) {
  write_three();
  std::ifstream stream(file(), std::ios::binary);
  const std::string whole((std::istreambuf_iterator<char>(stream)), std::istreambuf_iterator<char>());
  for (std::size_t size = 0; size <= whole.size(); ++size) {
    std::ofstream(file(), std::ios::binary | std::ios::trunc) << whole.substr(0, size);
    std::int64_t turns = 0;
    for (std::size_t at = 0, end; (end = whole.find('\n', at)) != std::string::npos && end < size;
         at = end + 1)
      turns += whole.substr(at, end - at).find("\"stage\"") != std::string::npos ? 1 : 0;
    {
      SweepLog log(file(), run(), true);
      ASSERT_EQ(log.kept(), turns) << "cut at " << size;
      log.add_turn("p", "screen", {{"nr", 9}}, {4e-6, std::nullopt});
    }
    ASSERT_EQ(SweepLog(file(), run(), true).kept(), turns + 1) << "cut at " << size;
  }
}

TEST_F(SweepLogTest, AnotherRunsLogIsRefused) {
  write_three();
  auto other = run();
  other["source_hash"] = "def";
  try {
    SweepLog(file(), other, true);
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("source_hash"), std::string::npos);
  }
  EXPECT_EQ(SweepLog(file(), other, false).kept(), 0);
  EXPECT_EQ(SweepLog(file() + ".before", run(), true).kept(), 3) << "the log that was started over";
  const SweepLog one(file(), other, true);
  EXPECT_THROW(SweepLog(file(), other, true), Error) << "two runs at once";
  put("other.jsonl", "this is no log\n");
  EXPECT_THROW(SweepLog((path_ / "other.jsonl").string(), run(), true), Error);
  EXPECT_EQ(SweepLog(file() + ".before", run(), true).kept(), 3);
  put("typed.jsonl", R"({"run":{"strategy":"model","source_hash":"abc"}})"
                     "\n"
                     R"({"problem":"p","stage":"screen","config":{},"seconds":"soon"})"
                     "\n");
  EXPECT_THROW(SweepLog((path_ / "typed.jsonl").string(), run(), true), Error) << "a text for a number";
}

// Whoever forgets to resume twice loses nothing.
TEST_F(SweepLogTest, EarlierLogsAreNumbered) {
  write_three();
  for (int again = 0; again < 2; ++again) SweepLog(file(), run(), false);
  EXPECT_EQ(SweepLog(file() + ".before", run(), true).kept(), 3);
  EXPECT_EQ(SweepLog(file() + ".before.2", run(), true).kept(), 0);
  SweepLog(file(), run(), false, false);  // the cache's: one is kept
  EXPECT_EQ(SweepLog(file() + ".before", run(), true).kept(), 0);
  EXPECT_FALSE(std::filesystem::exists(file() + ".before.3"));
}

TEST_F(SweepLogTest, FilesOfAnotherKindStay) {
  put("list.jsonl", "{\"command\":\"compile\",\"configs\":{}}\n{\"config\":{}}\n");
  const std::string list = (path_ / "list.jsonl").string();
  EXPECT_THROW(LineLog(list, {"json", "command", false, "sweep"}), Error);
  EXPECT_THROW(LineLog(list, {"json", "command", true, "sweep"}), Error);
  EXPECT_FALSE(std::filesystem::exists(list + ".before"));
  EXPECT_NO_THROW(refuse_foreign_file(list, {"configs", "command", false, "configs"}));
  EXPECT_NO_THROW(refuse_foreign_file(list + ".none", {"configs", "command", false, "configs"}));
}

}  // namespace
}  // namespace tilewright
