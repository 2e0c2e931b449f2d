// Measures large GEMM on the GPU beside cuBLAS in phases: random problems (checked only), the cases of the
// bars (screened, then interleaved with cuBLAS), the ladder of techniques, and energy. The sweep of Anzt 2015
// is a program of its own (gemm_large_sweep.cpp). A row is written as soon as it is known; a deadline ends
// the run between cases. A stand-alone program until `tilewright bench gemm` takes its place.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "gemm_large_run.hpp"

namespace tilewright::bench {
namespace {

std::vector<std::string> split(const std::string& text, char at = ',') {
  std::vector<std::string> parts(1);
  for (const char c : text)
    if (c == at)
      parts.emplace_back();
    else
      parts.back() += c;
  return parts;
}

// "4096" or "4096x64x4096".
GemmProblem parse_shape(const std::string& text) {
  const auto parts = split(text, 'x');
  GemmProblem p;
  p.m = std::atoll(parts[0].c_str());
  p.n = parts.size() == 3 ? std::atoll(parts[1].c_str()) : p.m;
  p.k = parts.size() == 3 ? std::atoll(parts[2].c_str()) : p.m;
  if (p.m < 1 || p.n < 1 || p.k < 1)
    throw Error(ErrorCode::invalid_argument, "--sizes", fmt::format("--sizes = '{}' is no size", text));
  return p;
}

// LU updates, long and flat products, odd sizes and primes.
const char* const skinny =
    "8192x8192x64,8192x8192x128,8192x8192x256,8192x8192x512,4096x4096x64,4096x4096x128,4096x4096x256,"
    "4096x4096x512,"
    "16384x16384x64,16384x16384x128,2048x2048x64,2048x2048x128,12000x12000x96,6000x6000x192,10007x10007x61,"
    "64x64x65536,128x128x65536,256x256x65536,512x512x65536,64x64x1048576,100x100x100000,128x128x1000000,"
    "37x41x500009,"
    "1048576x16x16,1048576x32x32,1048576x64x64,1048576x16x64,1048576x64x16,1000003x17x23,262144x32x256,"
    "262144x64x512,"
    "16x1048576x16,32x1048576x32,64x1048576x64,1009x1013x1019,2003x2011x2017,4001x4003x4007,997x8191x127,"
    "3001x3001x3001,"
    "509x521x4093,1500x1500x37,7x8000x8000,8000x7x8000,257x257x257";

}  // namespace

LargeFlags parse_large_flags(int argc, char** argv) {
  LargeFlags f;
  std::string sizes = "1024,2048,3000,4096,8192,16384,1000";
  std::map<std::string, std::function<void(const std::string&)>> flags = {
      {"--phase", [&](const std::string& v) { f.phases = split(v); }},
      {"--dtype",
       [&](const std::string& v) {
         f.dtypes.clear();
         for (const auto& one : split(v)) f.dtypes.push_back(enum_from_string<DType>(one, "--dtype"));
       }},
      {"--sizes", [&](const std::string& v) { sizes = v == "skinny" ? skinny : v; }},
      {"--op", [&](const std::string& v) { f.ops = split(v); }},
      {"--configs",
       [&](const std::string& v) { f.configs = static_cast<std::size_t>(std::atoi(v.c_str())); }},
      {"--finalists",
       [&](const std::string& v) { f.finalists = static_cast<std::size_t>(std::atoi(v.c_str())); }},
      {"--rounds", [&](const std::string& v) { f.rounds = std::atoi(v.c_str()); }},
      {"--problems", [&](const std::string& v) { f.problems = std::atoi(v.c_str()); }},
      {"--seconds", [&](const std::string& v) { f.seconds = std::atof(v.c_str()); }},
      {"--energy-seconds", [&](const std::string& v) { f.energy_seconds = std::atof(v.c_str()); }},
      {"--screen-seconds", [&](const std::string& v) { f.screen_seconds = std::atof(v.c_str()); }},
      {"--config", [&](const std::string& v) { f.own.push_back(v); }},
      {"--share", [&](const std::string& v) { f.share = v; }},
      {"--cache", [&](const std::string& v) { f.cache = v; }},
      {"--json", [&](const std::string& v) { f.json = v; }}};
  f.command = "bench_gemm_large";
  for (int i = 1; i < argc; i += 2) {
    const auto flag = flags.find(argv[i]);
    if (flag == flags.end())
      throw Error(ErrorCode::invalid_argument, argv[i], fmt::format("{} is not a flag", argv[i]));
    if (i + 1 == argc)
      throw Error(ErrorCode::invalid_argument, argv[i], fmt::format("{} needs a value", argv[i]));
    flag->second(argv[i + 1]);
    f.command += fmt::format(" {} {}", argv[i], argv[i + 1]);
  }
  for (const auto& one : split(sizes)) f.shapes.push_back(parse_shape(one));
  return f;
}

void LargeBench::run() {
  for (const auto& phase : flags_.phases) {
    if (phase == "variety")
      run_variety();
    else if (phase == "repeat")
      run_repeat();
    else if (phase == "compare")
      run_compare();
    else if (phase == "ladder")
      run_ladder();
    else if (phase == "energy")
      run_energy();
    else
      throw Error(ErrorCode::invalid_argument, "--phase", fmt::format("--phase = '{}' is none", phase));
  }
}

void LargeBench::run_variety() {
  std::size_t right = 0, wrong = 0;
  for (int i = 0; i < flags_.problems; ++i)
    for (const DType dtype : {DType::f64, DType::f32, DType::c128, DType::c64}) {
      if (late(fmt::format("variety from problem {}", i))) return;
      variety_problem(dtype, static_cast<unsigned>(i), right, wrong);
    }
  std::printf("variety: %zu right, %zu wrong\n", right, wrong);
  write({{"phase", "variety"}, {"right", right}, {"wrong", wrong}, {"device_uuid", gpu_.limits().uuid}});
}

void LargeBench::variety_problem(DType dtype, unsigned seed, std::size_t& right, std::size_t& wrong) {
  std::mt19937 random(seed * 4 + static_cast<unsigned>(dtype));
  const LargeSmall one = any_large(dtype, 260, random);
  const GemmLargeShape shape = shape_of(one);
  const auto space = gemm_large_space(one.problem, shape, gpu_.limits());
  auto configs = space.sample(8, random);
  for (const auto& config : gemm_large_promising(one.problem, shape, gpu_.limits(), 4))
    configs.push_back(config);
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
  for (const DType dtype : flags_.dtypes)
    for (const auto& ops : flags_.ops)
      for (const GemmProblem& shape : flags_.shapes) {
        const GemmProblem p = large_problem(dtype, shape.m, shape.n, shape.k, ops);
        if (late(to_string(p))) return;
        repeat_case(p);
      }
}

void LargeBench::repeat_case(const GemmProblem& p) {
  device_.prepare(p);
  const GemmLargeShape shape = gemm_large_shape(p);
  std::vector<GemmLargeConfig> configs;
  for (const auto& text : flags_.own)
    configs.push_back(from_json(nlohmann::json::parse(text), gemm_large_default(p, shape, gpu_.limits())));
  for (const auto& config : gemm_large_promising(p, shape, gpu_.limits(), flags_.configs))
    configs.push_back(config);
  const auto bytes = static_cast<std::size_t>(p.m * p.n) * size_bytes(p.dtype);
  PinnedBuffer first(gpu_, bytes), again(gpu_, bytes);
  for (const LargeTrial& trial : device_.compile(shape, p.dtype, configs)) {
    if (late("repeat of " + describe(trial.config))) return;
    const auto launch = device_.ours(p, trial);
    int moved = 0;
    std::size_t where = 0;
    for (int round = 0; round <= flags_.rounds; ++round) {
      PinnedBuffer& to = round == 0 ? first : again;
      device_.time(launch, 1);
      gpu_.read(to.data(), device_.arena().c(), bytes);
      if (round == 0 || std::memcmp(first.data(), again.data(), bytes) == 0) continue;
      const auto *x = static_cast<const char*>(first.data()), *y = static_cast<const char*>(again.data());
      if (moved++ == 0) where = static_cast<std::size_t>(std::mismatch(x, x + bytes, y).first - x);
    }
    auto line = device_.row(p, "tilewright", &trial, "repeat");
    line["launches"] = flags_.rounds;
    line["moved"] = moved;
    write(line);
    const auto element = static_cast<std::int64_t>(where / size_bytes(p.dtype));
    std::printf("%s: %d of %d launches differ from the first%s | %s\n", to_string(p).c_str(), moved,
                flags_.rounds,
                moved == 0 ? "" : fmt::format(", at ({}, {})", element % p.m, element / p.m).c_str(),
                describe(trial.config).c_str());
    std::fflush(stdout);
  }
}

void LargeBench::run_compare() {
  for (const DType dtype : flags_.dtypes)
    for (const auto& ops : flags_.ops) {
      std::vector<GemmLargeConfig> winners;  // of the sizes before
      for (const GemmProblem& shape : flags_.shapes) {
        const GemmProblem p = large_problem(dtype, shape.m, shape.n, shape.k, ops);
        if (late(to_string(p))) return;
        compare_case(p, winners);
      }
    }
}

void LargeBench::compare_case(const GemmProblem& p, std::vector<GemmLargeConfig>& winners) {
  device_.prepare(p);
  const GemmLargeShape shape = gemm_large_shape(p);
  const auto space = gemm_large_space(p, shape, gpu_.limits());
  // Long runs try fewer: what won before, and the first of the list.
  const std::size_t count = flops(p) > 4e11 ? std::min<std::size_t>(flags_.configs, 16) : flags_.configs;
  auto configs = gemm_large_promising(p, shape, gpu_.limits(), count);
  for (const auto& config : winners)
    if (space.contains(config) && std::find(configs.begin(), configs.end(), config) == configs.end())
      configs.push_back(config);
  auto trials = device_.compile(shape, p.dtype, configs);
  check(p, trials);
  screen(p, trials);
  if (trials.empty()) {
    std::printf("%s: nothing ran\n", to_string(p).c_str());
    return;
  }
  for (std::size_t i = 0; i < std::min<std::size_t>(4, trials.size()); ++i)
    if (std::find(winners.begin(), winners.end(), trials[i].config) == winners.end())
      winners.push_back(trials[i].config);
  trials.resize(std::min(flags_.finalists, trials.size()));
  // Ours and cuBLAS in turn, in stretches of about ten milliseconds.
  const auto peer = device_.cublas(p);
  const int stretch = std::max(1, static_cast<int>(0.01 / trials.front().seconds));
  std::vector<std::vector<double>> ours_s(trials.size());
  std::vector<double> peer_s, ratios;
  for (int round = -1; round < flags_.rounds; ++round) {
    const double other = device_.time(peer, stretch);
    double best = 1e30;
    for (std::size_t i = 0; i < trials.size(); ++i) {
      const double mine = device_.time(device_.ours(p, trials[i]), stretch);
      if (round >= 0) ours_s[i].push_back(mine);
      best = i == 0 ? mine : best;
    }
    if (round < 0) continue;
    peer_s.push_back(other);
    ratios.push_back(other / best);
  }
  std::size_t best = 0;
  for (std::size_t i = 1; i < trials.size(); ++i)
    if (estimate(ours_s[i]).centre < estimate(ours_s[best]).centre) best = i;
  for (std::size_t r = 0; r < ratios.size(); ++r) ratios[r] = peer_s[r] / ours_s[best][r];
  const Estimate ratio = estimate(ratios);
  for (std::size_t i = 0; i < trials.size(); ++i) {
    auto line = device_.row(p, "tilewright", &trials[i], "compare");
    add_times(line, p, estimate(ours_s[i]));
    line["best"] = i == best;
    if (i == best)
      line["ratio"] = {
          {"peer", "cublas"}, {"centre", ratio.centre}, {"low", ratio.low}, {"high", ratio.high}};
    write(line);
  }
  auto line = device_.row(p, "cublas", nullptr, "compare");
  add_times(line, p, estimate(peer_s));
  write(line);
  std::printf("%-44s ours %7.2f cublas %7.2f TF  ratio %.3f [%.3f, %.3f]  %s\n", to_string(p).c_str(),
              flops(p) / estimate(ours_s[best]).centre * 1e-12, flops(p) / estimate(peer_s).centre * 1e-12,
              ratio.centre, ratio.low, ratio.high, describe(trials[best].config).c_str());
  std::fflush(stdout);
}

void LargeBench::run_ladder() {
  for (const DType dtype : flags_.dtypes)
    for (const int n : {1024, 2048, 4096}) {
      const GemmProblem p = large_problem(dtype, n, n, n, "nt");
      if (late("ladder of " + to_string(p))) return;
      device_.prepare(p);
      const GemmLargeShape shape = gemm_large_shape(p);
      const auto steps = gemm_large_ladder(p, shape, gpu_.limits());
      for (const auto& step : steps) {
        auto trials = device_.compile(shape, dtype, {step.config});
        check(p, trials);
        if (trials.empty()) continue;
        trials.front().name = step.name;
        const auto mine = device_.ours(p, trials.front()), peer = device_.cublas(p);
        std::vector<double> ours_s, peer_s;
        device_.time(mine, 2);
        for (int i = 0; i < 100; ++i) {
          ours_s.push_back(device_.time(mine, 1));
          peer_s.push_back(device_.time(peer, 1));
        }
        auto line = device_.row(p, "tilewright", &trials.front(), "ladder");
        add_times(line, p, estimate(ours_s));
        line["cublas_seconds"] = estimate(peer_s).centre;
        write(line);
        std::printf("ladder %s n = %d %-24s %7.2f TF  %.3f of cuBLAS\n", to_string(dtype).c_str(), n,
                    step.name.c_str(), flops(p) / estimate(ours_s).centre * 1e-12,
                    estimate(peer_s).centre / estimate(ours_s).centre);
      }
    }
}

void LargeBench::run_energy() {
  for (const DType dtype : flags_.dtypes)
    for (const int n : {4096, 8192}) {
      const GemmProblem p = large_problem(dtype, n, n, n, flags_.ops.front());
      if (late("energy of " + to_string(p))) return;
      energy_case(p);
    }
}

void LargeBench::energy_case(const GemmProblem& p) {
  device_.prepare(p);
  const GemmLargeShape shape = gemm_large_shape(p);
  auto trials = device_.compile(
      shape, p.dtype,
      gemm_large_promising(p, shape, gpu_.limits(), std::min<std::size_t>(flags_.configs, 24)));
  check(p, trials);
  screen(p, trials);
  if (trials.size() > 4) trials.resize(4);
  const auto measure = [&](const char* impl, const LargeTrial* trial, double seconds) {
    const auto launch = trial == nullptr ? device_.cublas(p) : device_.ours(p, *trial);
    const LargeLoad load =
        device_.steady(launch, {.heat_s = std::min(1.0, seconds / 4), .window_s = seconds});
    auto line = device_.row(p, impl, trial, "energy");
    add_times(line, p, load.seconds);
    add_energy(line, p, load);
    write(line);
    const bool known = load.energy.fault.empty();
    const double efficiency = known ? line["gflops_per_watt"].get<double>() : 0;
    std::printf("energy %-36s %-10s %6.2f GF/W %5.0f W %6.2f TF %s %s\n", to_string(p).c_str(), impl,
                efficiency, known ? load.energy.watts() : 0.0, flops(p) / load.mean_s * 1e-12,
                trial == nullptr ? "" : describe(trial->config).c_str(), load.energy.fault.c_str());
    std::fflush(stdout);
    return efficiency;
  };
  // The most frugal of the fastest, then it and cuBLAS three times in turn.
  std::size_t best = 0;
  double most = 0;
  for (std::size_t i = 0; i < trials.size() && !late("energy"); ++i)
    if (const double e = measure("tilewright", &trials[i], flags_.screen_seconds); e > most)
      best = i, most = e;
  for (int round = 0; round < 3 && !trials.empty() && !late("energy"); ++round) {
    measure("cublas", nullptr, flags_.energy_seconds);
    measure("tilewright", &trials[best], flags_.energy_seconds);
  }
}

}  // namespace tilewright::bench

int main(int argc, char** argv) {
  try {
    tilewright::bench::LargeBench(tilewright::bench::parse_large_flags(argc, argv)).run();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bench_gemm_large: %s\n", error.what());
    return 1;
  }
  return 0;
}
