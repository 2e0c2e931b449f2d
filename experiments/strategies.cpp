// bench_strategies: measures how close to the best of a recorded sweep each search strategy comes, and how
// soon. `bench_strategies FILE SWEEP...` replays every sweep with ten seeds and writes, as JSON lines, the
// best cost found over the sweep's best after shares of the evaluations, and the geometric mean over all
// sweeps.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <random>

#include "analyze/replay.hpp"
#include "core/estimate.hpp"
#include "device/cpu.hpp"
#include "measure/ceilings.hpp"
#include "measure/clock.hpp"
#include "program.hpp"

namespace tilewright {
namespace {

constexpr int seeds = 10;
constexpr std::array shares{0.01, 0.02, 0.05, 0.1};

struct Outcome {
  std::array<std::vector<double>, shares.size()> ratios;  // by share of the evaluations
  double seconds = 0;
};

void replay_once(const Replay& replay, const Strategy& strategy, std::size_t start, std::uint64_t seed,
                 Outcome& outcome) {
  const TuneObjective time;
  const auto& metrics = replay.metrics();
  const double best = metrics[time.best(metrics, metrics[replay.start()])].seconds;
  const auto most = std::size_t(std::ceil(shares.back() * double(metrics.size())));
  ReplayEvaluator evaluator(replay, time, most);
  strategy.run({replay.points(), start, seed}, evaluator);
  for (std::size_t i = 0; i < shares.size(); ++i) {
    const auto count = std::size_t(shares[i] * double(metrics.size()));
    const auto& found = evaluator.best_after();
    outcome.ratios[i].push_back(metrics[found.at(std::max<std::size_t>(1, count) - 1)].seconds / best);
  }
}

nlohmann::json line_of(const std::string& strategy, const std::string& sweep, const Outcome& outcome) {
  nlohmann::json line{{"family", "strategies"}, {"strategy", strategy}, {"sweep", sweep}, {"seeds", seeds}};
  for (std::size_t i = 0; i < shares.size(); ++i)
    line["ratio_geomean"].push_back(
        {{"evaluations_share", shares[i]}, {"ratio", geometric_mean(outcome.ratios[i])}});
  fmt::print("{:<32} {:<26}", strategy, sweep);
  for (const auto& ratios : outcome.ratios) fmt::print(" {:.4f}", geometric_mean(ratios));
  fmt::print("  {:.1f} s\n", outcome.seconds);
  return line;
}

void print_sweep(const std::string& name, const Replay& replay) {
  const auto& metrics = replay.metrics();
  fmt::print("{}: {} points, {} axes; the default takes {:.3f} of the best\n", name, replay.points().size(),
             replay.points().axes().size(),
             metrics[replay.start()].seconds / metrics[TuneObjective().best(metrics, metrics[0])].seconds);
}

Outcome replay_all(const Replay& replay, const Strategy& strategy, bool random_start) {
  Outcome outcome;
  const double begin = wall_seconds();
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    std::mt19937_64 random(1000 + seed);
    const std::size_t start = random_start ? random() % replay.points().size() : replay.start();
    replay_once(replay, strategy, start, seed, outcome);
  }
  outcome.seconds = wall_seconds() - begin;
  return outcome;
}

void add(Outcome& total, const Outcome& outcome) {
  total.seconds += outcome.seconds;
  for (std::size_t share = 0; share < shares.size(); ++share)
    total.ratios[share].insert(total.ratios[share].end(), outcome.ratios[share].begin(),
                               outcome.ratios[share].end());
}

int run(int argc, char** argv) {
  std::ofstream file(argv[1]);
  std::string command = "bench_strategies";
  for (int i = 1; i < argc; ++i) command += fmt::format(" {}", argv[i]);
  file << nlohmann::json{{"command", command}}.dump() << '\n';
  std::map<std::string, Outcome> totals;
  for (int i = 2; i < argc; ++i) {
    const Replay replay = Replay::read(argv[i]);
    const std::string name = std::string(argv[i]).substr(std::string(argv[i]).rfind('/') + 1);
    print_sweep(name, replay);
    for (const Strategy& strategy : strategies())
      for (const bool random_start : {false, true}) {
        const Outcome outcome = replay_all(replay, strategy, random_start);
        const std::string searched =
            fmt::format("{} from {}", strategy.name, random_start ? "a random point" : "the default");
        add(totals[searched], outcome);
        auto line = line_of(searched, name, outcome);
        line["points"] = replay.points().size();
        file << line.dump() << '\n';
      }
  }
  for (const auto& [searched, total] : totals) {
    auto line = line_of(searched, "all", total);
    line["summary"] = true;
    line["sweeps"] = argc - 2;
    line["device"] = cpu_info().device;
    line["time"] = time_now();
    file << line.dump() << '\n';
  }
  return file.flush() ? 0 : 1;
}

}  // namespace
}  // namespace tilewright

int main(int argc, char** argv) {
  return tilewright::bench::run_program("bench_strategies", argc, 2, "FILE SWEEP...",
                                        [&] { return tilewright::run(argc, argv); });
}
