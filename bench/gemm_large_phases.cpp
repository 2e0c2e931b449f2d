// The phases that check and compare: random problems, races, and ours beside cuBLAS.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <numeric>
#include <random>
#include <span>

#include "gemm_large_run.hpp"

namespace tilewright::bench {
namespace {

constexpr int usual_rounds = 11;
constexpr double stretch_s = 0.05;
const std::vector<std::string> all_pairs = {"nn", "nt", "tn", "tt"};
const std::vector<std::int64_t> bar_sizes = {1024, 2048, 3000, 4096, 8192, 16384, 1000};

std::span<const GemmLargeConfig> last(const std::vector<GemmLargeConfig>& all, std::size_t count) {
  return std::span(all).last(std::min(count, all.size()));
}

std::string kind_of(const GemmProblem& p) { return to_string(p.dtype) + op_pair(p); }

}  // namespace

void LargeBench::run_variety() {
  std::size_t right = 0, wrong = 0;
  for (int i = 0; i < flags_.problems; ++i)
    for (const DType dtype : flags_.dtypes) {
      if (late(fmt::format("variety from problem {}", i))) return;
      variety_problem(dtype, static_cast<unsigned>(i), right, wrong);
    }
  std::printf("variety: %zu right, %zu wrong\n", right, wrong);
  wrong_ += wrong;
  write({{"phase", "variety"}, {"right", right}, {"wrong", wrong}, {"device_uuid", gpu_.limits().uuid}});
}

void LargeBench::variety_problem(DType dtype, unsigned seed, std::size_t& right, std::size_t& wrong) {
  std::mt19937 random(seed * 4 + static_cast<unsigned>(dtype));
  const LargeSmall one = any_large(dtype, 260, random);
  const GemmLargeShape shape = shape_of(one);
  const auto space = gemm_large_space(one.problem, shape, gpu_.limits());
  auto configs = space.sample(8, random);
  for (const auto& config : gemm_large_promising(one.problem, shape, known_, 4)) configs.push_back(config);
  auto trials = device_.compile(shape, dtype, configs);
  const GpuCheck checker(gpu_, one.problem, one.offset, seed);
  for (const LargeTrial& trial : trials) {
    GpuCheckResult result;
    try {
      result = device_.check_small(checker, *trial.kernel);
    } catch (const Error& error) {
      result.fault = error.what();
    }
    (result.fault.empty() ? right : wrong) += 1;
    if (!result.fault.empty())
      std::printf("WRONG offset=%d %s | %s\n", one.offset, result.fault.c_str(),
                  describe(trial.config).c_str());
  }
}

// Every kernel is deterministic, so a result that moves from launch to launch is a race.
void LargeBench::run_repeat() {
  for (const GemmProblem& p : problems(bar_sizes, all_pairs)) {
    if (late(to_string(p))) return;
    repeat_case(p);
  }
}

void LargeBench::repeat_case(const GemmProblem& p) {
  device_.prepare(p);
  const GemmLargeShape shape = gemm_large_shape(p);
  std::vector<GemmLargeConfig> configs = own_configs(p);
  for (const auto& config : gemm_large_promising(p, shape, known_, flags_.configs)) configs.push_back(config);
  const int rounds = flags_.rounds.value_or(usual_rounds);
  const auto bytes = static_cast<std::size_t>(p.m * p.n) * size_bytes(p.dtype);
  PinnedBuffer first(gpu_, bytes), again(gpu_, bytes);
  for (const LargeTrial& trial : device_.compile(shape, p.dtype, configs)) {
    if (late("repeat of " + describe(trial.config))) return;
    const auto launch = device_.ours(p, trial);
    int moved = 0;
    std::size_t where = 0;
    for (int round = 0; round <= rounds; ++round) {
      PinnedBuffer& to = round == 0 ? first : again;
      device_.time(launch, 1);
      gpu_.read(to.data(), device_.arena().c(), bytes);
      if (round == 0 || std::memcmp(first.data(), again.data(), bytes) == 0) continue;
      const auto *x = static_cast<const char*>(first.data()), *y = static_cast<const char*>(again.data());
      if (moved++ == 0) where = static_cast<std::size_t>(std::mismatch(x, x + bytes, y).first - x);
    }
    auto line = row(p, "tilewright", &trial, "repeat");
    line["launches"] = rounds;
    line["moved"] = moved;
    wrong_ += moved > 0 ? 1 : 0;
    write(line);
    const auto element = static_cast<std::int64_t>(where / size_bytes(p.dtype));
    std::printf("%s: %d of %d launches differ from the first%s | %s\n", to_string(p).c_str(), moved, rounds,
                moved == 0 ? "" : fmt::format(", at ({}, {})", element % p.m, element / p.m).c_str(),
                describe(trial.config).c_str());
    std::fflush(stdout);
  }
}

void LargeBench::run_compare() {
  const std::vector<GemmProblem> all = problems(bar_sizes, all_pairs);
  Winners winners;
  std::vector<const GemmProblem*> missing;
  for (const GemmProblem& p : all)
    if (const nlohmann::json* best = measured_before(p, "compare", "best", true); best != nullptr)
      winners[kind_of(p)].push_back(from_json<GemmLargeConfig>(best->at("config")));
    else
      missing.push_back(&p);
  for (std::size_t i = 0; i < missing.size(); ++i) {
    if (late(to_string(*missing[i]))) break;
    compare_case(*missing[i], winners, i + 1 < missing.size() ? missing[i + 1] : nullptr);
  }
  summarise_compare();
}

// The bars are geometric means and least ratios over cases, those of earlier runs of the file included.
void LargeBench::summarise_compare() {
  for (const DType dtype : flags_.dtypes) {
    std::vector<double> ratios;
    std::string least;
    for (const auto& line : rows_) {
      if (line.value("phase", "") != "compare" || line.value("dtype", "") != to_string(dtype)) continue;
      if (!line.value("best", false)) continue;
      ratios.push_back(line.at("ratio").at("centre"));
      if (ratios.back() <= *std::min_element(ratios.begin(), ratios.end())) least = line.at("problem");
    }
    if (ratios.empty()) continue;
    const double mean = geometric_mean(ratios), worst = *std::min_element(ratios.begin(), ratios.end());
    write({{"phase", "compare"},
           {"summary", true},
           {"dtype", to_string(dtype)},
           {"cases", ratios.size()},
           {"ratio_geomean", mean},
           {"ratio_min", worst},
           {"ratio_min_case", least},
           {"device_uuid", gpu_.limits().uuid}});
    std::printf("%s: %zu cases, geometric mean %.3f of cuBLAS, least %.3f (%s)\n", to_string(dtype).c_str(),
                ratios.size(), mean, worst, least.c_str());
  }
}

std::vector<GemmLargeConfig> LargeBench::own_configs(const GemmProblem& p) {
  const GemmLargeShape shape = gemm_large_shape(p);
  const auto space = gemm_large_space(p, shape, gpu_.limits());
  std::vector<GemmLargeConfig> legal;
  for (const auto& text : flags_.own) {
    const auto config = parse_config(text, gemm_large_default(p, shape, known_));
    if (const auto faults = space.explain(config); faults.empty())
      legal.push_back(config);
    else
      say(fmt::format("{}: --config = '{}' is left out: {}", to_string(p), text, faults.front()));
  }
  return legal;
}

// The first of the list, what was asked for, and what won here before or for sizes before this one.
std::vector<GemmLargeConfig> LargeBench::candidates(const GemmProblem& p, const Winners& winners) {
  const GemmLargeShape shape = gemm_large_shape(p);
  const auto space = gemm_large_accurate_space(p, shape, known_);
  // The longer the runs the fewer are tried.
  constexpr double long_flops = 4e11, longest_flops = 4e12;
  const bool longest = flops(p) > longest_flops;
  const std::size_t most = longest ? 6 : flops(p) > long_flops ? 16 : flags_.configs;
  const std::size_t count = std::min(flags_.configs, most), remembered = longest ? 4 : 12;
  if (count < flags_.configs)
    say(fmt::format("{} of the promising configs are tried for each problem of more than {:.0e} operations",
                    count, longest ? longest_flops : long_flops));
  auto configs = gemm_large_promising(p, shape, known_, count);
  const auto add = [&](const GemmLargeConfig& config) {
    if (std::find(configs.begin(), configs.end(), config) == configs.end()) configs.push_back(config);
  };
  for (const auto& config : own_configs(p)) add(config);
  const Winners& seeds = seeds_;
  GemmProblem overwritten = p;
  overwritten.beta = Scalar::zero;
  for (const auto& [known, key] : {std::pair(&seeds, to_string(p)), std::pair(&seeds, to_string(overwritten)),
                                   std::pair(&winners, kind_of(p))})
    if (const auto found = known->find(key); found != known->end())
      for (const GemmLargeConfig& config : last(found->second, remembered))
        if (space.contains(config)) add(config);
  return configs;
}

void LargeBench::compare_case(const GemmProblem& p, Winners& all_winners, const GemmProblem* next) {
  device_.prepare(p);
  auto& winners = all_winners[kind_of(p)];
  auto trials = device_.compile(gemm_large_shape(p), p.dtype, candidates(p, all_winners));
  if (next != nullptr)
    device_.compile_ahead(gemm_large_shape(*next), next->dtype, candidates(*next, all_winners));
  check(p, trials);
  screen(p, trials);
  if (trials.empty()) {
    nothing_ran(p);
    return;
  }
  for (const LargeTrial& trial : trials)
    write({{"phase", "screened"},
           {"problem", to_string(p)},
           {"config", to_json(trial.config)},
           {"seconds", trial.seconds},
           {"registers", trial.kernel->function().registers()},
           {"device_uuid", gpu_.limits().uuid}});
  for (std::size_t i = 0; i < std::min<std::size_t>(4, trials.size()); ++i)
    if (std::find(winners.begin(), winners.end(), trials[i].config) == winners.end())
      winners.push_back(trials[i].config);
  trials.resize(std::min(flags_.finalists, trials.size()));
  contest(p, trials);
}

// Those of ours and cuBLAS, the last, in turn, each for a stretch that is not timed, one launch where that is
// longer, and one that is. Under its power limit the card answers to what ran just before: a kernel that
// takes less energy than others would otherwise lend them its clock. The order is drawn anew for each round.
// Seconds of a launch by contestant and round.
std::vector<std::vector<double>> LargeBench::race(const GemmProblem& p, std::span<const LargeTrial> trials,
                                                  int rounds) {
  const auto peer = device_.cublas(p);
  const int stretch = std::max(1, static_cast<int>(stretch_s / trials.front().seconds));
  std::vector<std::vector<double>> seconds(trials.size() + 1);
  std::vector<std::size_t> order(trials.size() + 1);
  std::iota(order.begin(), order.end(), 0u);
  std::mt19937 random(5);
  for (int round = -1; round < rounds; ++round) {  // the first warms up
    std::shuffle(order.begin(), order.end(), random);
    for (const std::size_t i : order) {
      const auto launch = i < trials.size() ? device_.ours(p, trials[i]) : peer;
      if (stretch > 1) device_.time(launch, stretch);  // else what time() launches untimed is as long
      const double one = device_.time(launch, stretch);
      if (round >= 0) seconds[i].push_back(one);
    }
  }
  return seconds;
}

// The best of several is best by chance, too: what it gains on cuBLAS is told by rounds that did not choose
// it.
void LargeBench::contest(const GemmProblem& p, std::vector<LargeTrial>& trials) {
  const int rounds = flags_.rounds.value_or(usual_rounds);
  const auto choosing = race(p, trials, (rounds + 1) / 2);
  std::size_t best = 0;
  for (std::size_t i = 1; i < trials.size(); ++i)
    if (estimate(choosing[i]).centre < estimate(choosing[best]).centre) best = i;
  const auto paired = race(p, std::span(trials).subspan(best, 1), rounds);
  const std::vector<double>&ours_s = paired[0], &peer_s = paired[1];
  std::vector<double> ratios;
  for (std::size_t r = 0; r < peer_s.size(); ++r) ratios.push_back(peer_s[r] / ours_s[r]);
  const Estimate ratio = estimate(ratios);
  auto other = row(p, "cublas", nullptr, "compare");
  add_times(other, p, estimate(peer_s));
  write(other);
  // The best comes last: its line says that the case is complete.
  for (std::size_t n = 1; n <= trials.size(); ++n) {
    const std::size_t i = (best + n) % trials.size();
    auto line = row(p, "tilewright", &trials[i], "compare");
    add_times(line, p, estimate(i == best ? ours_s : choosing[i]));
    line["best"] = i == best;
    if (i == best) line["ratio"] = ratio_json(ratio);
    write(line);
  }
  std::printf("%-44s ours %7.2f cublas %7.2f TF  ratio %.3f [%.3f, %.3f]  %s\n", to_string(p).c_str(),
              flops(p) / estimate(ours_s).centre * 1e-12, flops(p) / estimate(peer_s).centre * 1e-12,
              ratio.centre, ratio.low, ratio.high, describe(trials[best].config).c_str());
  std::fflush(stdout);
}

}  // namespace tilewright::bench
