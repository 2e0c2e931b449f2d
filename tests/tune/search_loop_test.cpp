// The search that CPU and GPU share, over a pool of made-up candidates on a made-up machine: who wins, what
// is decided when the budget is too small to tell, what drift does, and what a resumed run does not do again.
#include "tune/search_loop.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <random>
#include <set>
#include <thread>

#include "measure/clock.hpp"
#include "support/fake_meter.hpp"
#include "support/temp_folder.hpp"
#include "tune/tuner.hpp"
#include "wisdom/store.hpp"

namespace tilewright {
namespace {

// Candidates with one axis `x`; the first is the default. Turns take no time but what `sleep_s` says.
class FakePool : public CheckedPool {
 public:
  explicit FakePool(std::vector<double> seconds)
      : CheckedPool(seconds.size()), seconds_(std::move(seconds)) {}

  nlohmann::json fields(std::size_t i) const override { return {{"x", i}}; }
  Metrics time_with_energy(std::size_t i, double turn_s, EnergyMeter&) override {
    weighed.insert(i);
    return {time(i, turn_s).seconds, joules[i]};
  }
  double shortest_energy_s(const EnergyMeter&) const override { return 1e-6; }

  std::set<std::size_t> wrong;
  std::function<double(int)> speed = [](int) { return 1.0; };
  double noise = 0.002, sleep_s = 0;
  int turns = 0, gated = 0;
  std::vector<double> joules;
  std::set<std::size_t> weighed;

 private:
  CheckResult check(std::size_t i) override {
    ++gated;
    return {wrong.contains(i) ? "wrong on purpose" : "", {1e-16, 4e-16}};
  }
  TurnTimer::Turn time_made(std::size_t i, double) override {
    if (sleep_s > 0) std::this_thread::sleep_for(std::chrono::duration<double>(sleep_s));
    return {seconds_[i] * speed(turns++) * (1 + noise * std::normal_distribution<>()(random_)), 1};
  }

  std::vector<double> seconds_;
  std::mt19937_64 random_{7};
};

// The conclusion of a tuner from an outcome.
TuneResult result_of(const SearchOutcome& outcome, const FakePool& pool) {
  TuneResult result;
  static_cast<SearchOutcome&>(result) = outcome;
  result.origin = {"fake", "d", "", "", "h", "c"};
  result.config = pool.fields(outcome.winner);
  return result;
}

constexpr SearchPace quick{.shortest_turn_s = 1e-6,
                           .longest_screening_s = 1e-6,
                           .longest_halving_s = 1e-6,
                           .longest_final_s = 1e-6,
                           .strategy_share = 0.5,
                           .halving_share = 0.7,
                           .incumbent_tie = 0.03};

GemmProblem problem() {
  return parse_problem("gemm_batched:f64:nn:m=4,n=4,k=4:strided:batch=7:residency=l1");
}

SearchOutcome found(FakePool& pool, const SearchOptions& options, std::optional<std::size_t> incumbent = {}) {
  return search(to_string(problem()), pool, options, quick, incumbent, options.clock.now());
}

std::vector<double> many_costs(std::size_t count, std::size_t best, double least) {
  std::vector<double> seconds;
  for (std::size_t i = 0; i < count; ++i)
    seconds.push_back(1 + 0.3 * double((i * 37) % count) / double(count));
  seconds[best] = least;
  return seconds;
}

TEST(SearchLoop, FindsTheBestAndSaysHowSurely) {
  FakePool pool(many_costs(100, 61, 0.8));
  const SearchOutcome outcome = found(pool, {});
  EXPECT_EQ(outcome.winner, 61u);
  EXPECT_TRUE(outcome.decided);
  EXPECT_GE(outcome.rounds, 6);
  EXPECT_GE(outcome.seconds.samples, 6);
  EXPECT_NEAR(outcome.regret, 0.25, 0.02);
  const WisdomRecord record = records_of(result_of(outcome, pool)).front();
  EXPECT_EQ(record.error_bound, 4e-16);
  EXPECT_EQ(record.seconds, outcome.seconds.centre);
  EXPECT_EQ(paired_regret(record), outcome.regret);
  EXPECT_TRUE(record.passed());
  // A file's line says the same.
  const WisdomRecord read = parse_record(to_json(record).dump()).value();
  EXPECT_EQ(to_json(read), to_json(record));
}

TEST(SearchLoop, ABudgetTooSmallForRoundsDecidesNothing) {
  FakePool pool(many_costs(20, 3, 0.5));
  SearchOptions options;
  options.clock = BudgetClock::of_turns();
  options.budget_s = 10 * quick.shortest_turn_s;
  const SearchOutcome outcome = found(pool, options, 7);
  EXPECT_FALSE(outcome.decided);
  EXPECT_EQ(outcome.winner, 7u) << "the known record stays";
  EXPECT_LT(outcome.rounds, 6);
  options.budget_s = 1e-3 * quick.shortest_turn_s;
  EXPECT_GE(found(pool, options).measured, 1) << "something is always reported";
}

TEST(SearchLoop, ABudgetOfTurnsIsTheSameSearchHoweverLongTheyTake) {
  const auto turns = [](double sleep_s) {
    FakePool pool(many_costs(20, 3, 0.5));
    pool.sleep_s = sleep_s;
    SearchOptions options;
    options.clock = BudgetClock::of_turns();
    options.budget_s = 150 * quick.shortest_turn_s;
    const SearchOutcome outcome = found(pool, options);
    EXPECT_EQ(outcome.winner, 3u);
    EXPECT_NEAR(outcome.tuning_s, 150 * quick.shortest_turn_s, 20 * quick.shortest_turn_s);
    return pool.turns;
  };
  EXPECT_EQ(turns(0), turns(1e-4));
}

TEST(SearchLoop, FinalistsStayAwaySoThatRoundsFit) {
  FakePool pool(many_costs(20, 3, 0.5));
  SearchOptions options;
  options.clock = BudgetClock::of_turns();
  options.budget_s =
      150 *
      quick.shortest_turn_s;  // 45 turns are left for the contest: not six rounds of seven and the sentinel
  const SearchOutcome outcome = found(pool, options);
  EXPECT_TRUE(outcome.decided) << outcome.rounds;
  EXPECT_EQ(outcome.winner, 3u);
}

TEST(SearchLoop, AnIncumbentStaysUnlessClearlyBeaten) {
  FakePool close({1.0, 0.9, 0.92});
  EXPECT_EQ(found(close, {}, 2).winner, 2u) << "2 % are a tie";
  EXPECT_TRUE(found(close, {}, 2).tie);
  FakePool far({1.0, 0.9, 0.95});
  EXPECT_EQ(found(far, {}, 2).winner, 1u);
  EXPECT_EQ(found(close, {}).winner, 1u) << "the default yields to less";
}

TEST(SearchLoop, HalvingSeesThroughDrift) {
  // After the first looks the machine is at half its speed for every other 48 turns.
  const auto unsteady = [](int turn) { return turn > 240 && turn / 64 % 2 == 0 ? 1.2 : 1.0; };
  int right = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    FakePool pool(many_costs(200, 61, 0.97));
    pool.speed = unsteady;
    SearchOptions options;
    options.seed = seed;
    right += found(pool, options).winner == 61 ? 1 : 0;
  }
  EXPECT_GE(right, 18);
}

TEST(SearchLoop, EnergyWithinHoldsToTheFastestOfTheContest) {
  FakePool pool({1.0, 0.8, 0.82, 0.9, 0.95});
  FakeMeter meter;
  pool.joules = {5, 9, 4, 2, 1};  // the slower, the more frugal
  SearchOptions options;
  options.meter = &meter;
  options.objective = TuneObjective::parse("energy_within=5%");
  EXPECT_EQ(found(pool, options).winner, 2u) << "the default, the third and the fourth are too slow";
  EXPECT_EQ(found(pool, options, 4).winner, 2u) << "an incumbent that is too slow yields";
  options.objective = TuneObjective::parse("energy_within=15%");
  EXPECT_EQ(found(pool, options).winner, 3u);
}

TEST(SearchLoop, EnergyIsAskedOfTheFastOnesAndTheDefault) {
  std::vector<double> seconds(100);
  for (std::size_t x = 0; x < seconds.size(); ++x)
    seconds[x] = 2 - 0.01 * double(x);  // the default is the slowest
  FakePool pool(seconds);
  pool.joules.assign(seconds.size(), 5);
  pool.joules[50] = 1;  // too slow to be looked at
  pool.joules[90] = 2;
  FakeMeter meter;
  SearchOptions options;
  options.meter = &meter;
  options.objective = TuneObjective::parse("energy");
  const SearchOutcome outcome = found(pool, options);
  EXPECT_EQ(outcome.winner, 90u);
  EXPECT_EQ(outcome.joules->centre, 2);
  EXPECT_EQ(outcome.measured, 100);
  EXPECT_TRUE(pool.weighed.contains(0));
  EXPECT_FALSE(pool.weighed.contains(50));
  EXPECT_LE(pool.weighed.size(), 25u);
}

// Whatever a turn runs besides the problems that it counts: power is what the meter is asked for.
TEST(SearchLoop, EnergyIsPowerTimesTime) {
  class Turns : public FakePool {
   public:
    using FakePool::FakePool;
    Metrics time_with_energy(std::size_t i, double turn_s, EnergyMeter& asked) override {
      return CheckedPool::time_with_energy(i, turn_s, asked);
    }

   private:
    TurnTimer::Turn time_made(std::size_t, double) override {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      return {0.5, 1};
    }
  };
  class Watts : public FakeMeter {
   public:
    double joules() override { return 300 * wall_seconds(); }
  } meter;
  Turns pool({1.0});
  EXPECT_NEAR(*pool.time_with_energy(0, 1e-3, meter).joules, 150, 3);
  meter.shortest = 10;
  EXPECT_THROW(pool.time_with_energy(0, 1e-3, meter), Error) << "turns stay too short";
}

TEST(SearchLoop, WrongConfigsAreReportedWithTheirReasons) {
  FakePool pool(many_costs(30, 5, 0.5));
  pool.wrong = {5, 8};
  const SearchOutcome outcome = found(pool, {});
  EXPECT_NE(outcome.winner, 5u);
  EXPECT_EQ(outcome.wrong, 2);
  const auto records = wrong_records(result_of(outcome, pool));
  ASSERT_EQ(records.size(), 2u);
  const TempFolder folder;
  WisdomStore store(folder / "wisdom.sqlite", sqlite::Mode::write);
  for (const WisdomRecord& record : records) {
    EXPECT_EQ(record.verdict, "failed");
    EXPECT_EQ(record.reason, "wrong on purpose");
    EXPECT_TRUE(store.add_found(record));
  }
  EXPECT_TRUE(store.add_found(records_of(result_of(outcome, pool)).front()));
  int failed = 0;
  store.each([&](const WisdomRecord& record) {
    failed += record.passed() ? 0 : 1;
    EXPECT_EQ(record.reason, record.passed() ? "" : "wrong on purpose");
  });
  EXPECT_EQ(store.count(), 3) << "each wrong config beside the winner";
  EXPECT_EQ(failed, 2);
}

TEST(CheckedPool, NothingIsTimedBeforeItPassedTheGate) {
  FakePool pool(many_costs(3, 1, 0.5));
  pool.wrong = {2};
  EXPECT_THROW(pool.time(2, 0), Error);
  EXPECT_EQ(pool.turns, 0);
  EXPECT_EQ(pool.time(1, 0).problems, 1);
  EXPECT_EQ(pool.gated, 2) << "each meets the gate once, asked for or not";
  EXPECT_FALSE(pool.is_right(2));
  EXPECT_EQ(pool.failure(2), "wrong on purpose");
}

// One config after the other is made where that is all that is asked for, else announced ones along with it.
TEST(CheckedPool, AnnouncedConfigsAreMadeTogetherAndOnce) {
  class Makes : public CheckedPool {
   public:
    Makes() : CheckedPool(100, 0, 10), made(100) {}
    nlohmann::json fields(std::size_t i) const override { return {{"x", i}}; }
    std::vector<std::atomic<int>> made;

   private:
    void make(std::size_t i) override {
      ++made[i];
      if (i == 3) throw Error(ErrorCode::unsupported, "config", "it cannot be made");
    }
    CheckResult check(std::size_t i) override {
      if (i == 5) throw Error(ErrorCode::unsupported, "config", "it does not fit");
      if (i == 6) throw Error(ErrorCode::device_lost, "device", "it broke the device");
      return {"", {1, 2}};
    }
    TurnTimer::Turn time_made(std::size_t, double) override { return {1, 1}; }
  } pool;
  pool.set_passed(2, {});  // by an earlier run: not made before it is timed
  const std::size_t wanted[] = {1, 2, 3, 4, 5, 6};
  pool.announce(wanted);
  EXPECT_TRUE(pool.is_right(1));
  for (const std::size_t i : wanted) EXPECT_EQ(pool.made[i], i == 2 ? 0 : 1) << i;
  EXPECT_TRUE(pool.is_right(2));
  EXPECT_EQ(pool.time(2, 0).seconds, 1);
  EXPECT_FALSE(pool.is_right(3));
  EXPECT_EQ(pool.failure(3), "it cannot be made");
  EXPECT_FALSE(pool.is_right(5));
  EXPECT_EQ(pool.failure(5), "it does not fit");
  EXPECT_THROW(pool.is_right(6), Error) << "that ends the run";
  for (const std::size_t i : wanted) EXPECT_EQ(pool.made[i], 1) << i;
}

TEST(SearchLoop, AResumedRunAsksTheGateNothingTwice) {
  const TempFolder folder;
  const std::string file = folder / "sweep.jsonl";
  const nlohmann::json run{{"strategy", "exhaustive"}};
  FakePool pool(many_costs(40, 5, 0.5));
  pool.wrong = {9};
  SearchOptions options;
  {
    SweepLog log(file, run, false);
    options.log = &log;
    EXPECT_TRUE(found(pool, options).complete);
    EXPECT_EQ(pool.gated, 40);
  }
  SweepLog log(file, run, true);
  options.log = &log;
  FakePool again(many_costs(40, 5, 0.5));
  const SearchOutcome outcome = found(again, options);
  EXPECT_EQ(again.gated, 0);
  EXPECT_EQ(outcome.winner, 5u);
  EXPECT_EQ(outcome.accuracy.error, 1e-16);
  EXPECT_EQ(outcome.wrong, 1);
  EXPECT_EQ(outcome.wrongs.front().reason, "wrong on purpose");
}

TEST(SearchLoop, RefusesAnObjectiveWithoutItsMeter) {
  SearchOptions options;
  options.objective = TuneObjective::parse("edp");
  EXPECT_THROW(check_search(options, problem().location), Error);
  FakeMeter gpu({Location::device, "GPU-1", 0});
  options.meter = &gpu;
  EXPECT_THROW(check_search(options, problem().location), Error);
  FakeMeter cpu;
  options.meter = &cpu;
  check_search(options, problem().location);
  options.strategy = "annealing";
  EXPECT_THROW(check_search(options, problem().location), Error);
}

}  // namespace
}  // namespace tilewright
