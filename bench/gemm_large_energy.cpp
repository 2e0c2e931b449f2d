// Energy as the bar words it: the most frugal of our configs against cuBLAS in long windows, in turn, and the
// ratio of GFLOP/s/W with its interval. What the file holds already is not measured again.
#include <algorithm>
#include <cstdio>

#include "gemm_large_run.hpp"

namespace tilewright::bench {
namespace {

constexpr int energy_rounds = 3;

double efficiency_of(const nlohmann::json& line) {
  const auto value = line.value("gflops_per_watt", nlohmann::json());
  return value.is_number() ? value.get<double>() : 0;
}

}  // namespace

void LargeBench::run_energy() {
  if (device_.nvml() == nullptr) say("no energy is measured: " + device_.nvml_fault());
  for (const GemmProblem& p : problems({4096, 8192}, {"nn"})) {
    if (measured_before(p, "energy_ratio", "ratio") != nullptr) continue;
    if (late("energy of " + to_string(p))) return;
    energy_case(p);
  }
}

void LargeBench::energy_case(const GemmProblem& p) {
  device_.prepare(p);
  const auto config = frugal_config(p);
  if (!config) return;
  auto trials = device_.compile(gemm_large_shape(p), p.dtype, {*config});
  check(p, trials);
  if (trials.empty()) return;
  for (;;) {
    const auto theirs = energy_windows(p, "cublas"), ours = energy_windows(p, "tilewright");
    if (ours.size() >= energy_rounds && theirs.size() >= energy_rounds) return write_energy_ratio(p, *config);
    if (late("energy of " + to_string(p))) return;
    if (theirs.size() <= ours.size())
      measure_energy(p, "cublas", nullptr, "energy", flags_.energy_seconds);
    else
      measure_energy(p, "tilewright", &trials.front(), "energy", flags_.energy_seconds);
  }
}

// Windows of the asked length. Of an earlier run those without energy are measured again where there is a
// meter now; of this one they count, or a meter that is too coarse would be asked for ever.
std::vector<nlohmann::json> LargeBench::energy_windows(const GemmProblem& p, const char* impl) const {
  auto lines = measured_lines(p, "energy", impl);
  std::erase_if(lines, [&](const nlohmann::json& line) {
    const bool again = device_.nvml() != nullptr && line.value("run", 0) != run_ && efficiency_of(line) == 0;
    return again || line.value("window_s", flags_.energy_seconds) != flags_.energy_seconds;
  });
  return lines;
}

// That of an earlier run, or the most frugal of the fastest in short windows; the fastest where there is no
// meter. Empty where time ran out or nothing ran.
std::optional<GemmLargeConfig> LargeBench::frugal_config(const GemmProblem& p) {
  if (const auto known = measured_lines(p, "energy", "tilewright"); !known.empty())
    return from_json<GemmLargeConfig>(known.front().at("config"));
  auto trials = device_.compile(gemm_large_shape(p), p.dtype, candidates(p, {}));
  check(p, trials);
  screen(p, trials);
  if (trials.empty()) {
    nothing_ran(p);
    return std::nullopt;
  }
  if (trials.size() > flags_.frugal) trials.resize(flags_.frugal);
  const LargeTrial* best = &trials.front();
  double most = 0;
  for (const LargeTrial& trial : trials) {
    const auto lines = measured_lines(p, "energy_screen", "tilewright");
    const auto known = std::find_if(lines.begin(), lines.end(), [&](const auto& line) {
      return line.at("config") == to_json(trial.config) &&
             (efficiency_of(line) > 0 || device_.nvml() == nullptr);
    });
    if (known == lines.end() && late("choosing for energy of " + to_string(p))) return std::nullopt;
    const double efficiency = known != lines.end() ? efficiency_of(*known)
                                                   : measure_energy(p, "tilewright", &trial, "energy_screen",
                                                                    flags_.screen_seconds);
    if (efficiency > most) best = &trial, most = efficiency;
  }
  return best->config;
}

double LargeBench::measure_energy(const GemmProblem& p, const char* impl, const LargeTrial* trial,
                                  const char* phase, double seconds) {
  const auto launch = trial == nullptr ? device_.cublas(p) : device_.ours(p, *trial);
  const LargeLoad load = device_.steady(
      launch, {.heat_s = std::min(3.0, seconds / 4), .window_s = seconds, .least_edges = flags_.least_edges});
  auto line = row(p, impl, trial, phase);
  add_times(line, p, load.seconds);
  add_energy(line, p, load);
  line["window_s"] = seconds;
  line["run"] = run_;
  write(line);
  const std::string weighed =
      load.energy.fault.empty()
          ? fmt::format("{:6.2f} GF/W {:5.0f} W", efficiency_of(line), load.energy.watts())
          : fmt::format("{:>6} GF/W {:>5} W", "-", "-");
  std::printf("%s %-36s %-10s %s %6.2f TF %s %s\n", phase, to_string(p).c_str(), impl, weighed.c_str(),
              flops(p) / load.mean_s * 1e-12, trial == nullptr ? "" : describe(trial->config).c_str(),
              load.energy.fault.c_str());
  std::fflush(stdout);
  return efficiency_of(line);
}

// Windows are paired in the order in which they were measured. Three have no interval of 95 %: its ends are
// the extremes.
void LargeBench::write_energy_ratio(const GemmProblem& p, const GemmLargeConfig& config) {
  const auto theirs = energy_windows(p, "cublas"), ours = energy_windows(p, "tilewright");
  std::vector<double> ratios, speeds;
  for (std::size_t r = 0; r < std::min(theirs.size(), ours.size()); ++r) {
    if (efficiency_of(theirs[r]) == 0 || efficiency_of(ours[r]) == 0) continue;
    ratios.push_back(efficiency_of(ours[r]) / efficiency_of(theirs[r]));
    speeds.push_back(theirs[r].at("metrics").at("mean_seconds").get<double>() /
                     ours[r].at("metrics").at("mean_seconds").get<double>());
  }
  if (ratios.empty()) return;  // every window's line says why it has no energy
  const Estimate ratio = estimate(ratios), speed = estimate(speeds);
  write({{"phase", "energy_ratio"},
         {"problem", to_string(p)},
         {"config", to_json(config)},
         {"ratio", ratio_json(ratio)},
         {"speed_ratio", ratio_json(speed)},
         {"device_uuid", gpu_.limits().uuid}});
  std::printf("%s: %.3f [%.3f, %.3f] of cuBLAS's GFLOP/s/W at %.3f of its speed\n", to_string(p).c_str(),
              ratio.centre, ratio.low, ratio.high, speed.centre);
}

}  // namespace tilewright::bench
