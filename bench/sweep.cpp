// bench_sweep: records a whole space of one problem, every legal config timed several times in shuffled
// rounds, as JSON lines that Replay serves. `bench_sweep FILE PROBLEM POINTS` takes the points of the full
// space (not only those that `tune` walks); where there are more than POINTS, axes are thinned evenly. It
// tunes nothing.
#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <numeric>
#include <random>

#include "core/build_info.hpp"
#include "device/cpu.hpp"
#include "kernel/jit/x86.hpp"
#include "measure/ceilings.hpp"
#include "measure/estimate.hpp"
#include "tune/gate.hpp"
#include "tune/kernel_timer.hpp"
#include "tune/points.hpp"

namespace tilewright {
namespace {

using Config = GemmSmallCpuConfig;

constexpr int first_rounds = 5;
constexpr int best_rounds = 12;  // more of the best tenth: the least of many noisy values is too small
constexpr double turn_s = 4e-4;

struct Point {
  Config config;
  std::shared_ptr<const GemmSmallCpuKernel> kernel;
  std::vector<double> samples;
};

// Prefetching multiplies the points where there is nothing to prefetch: left out unless the data is cold.
bool wanted(const Config& config, const Config& standard, Residency residency) {
  if (residency != Residency::cold) return config.prefetch_bytes == 0 && config.store == standard.store;
  return config.vector_bits == standard.vector_bits && config.tail == standard.tail &&
         config.k_sets == standard.k_sets;
}

// Every n-th config would cut the lines that searches walk along, so whole values of the longest axis go.
std::vector<Config> thinned(std::vector<Config> configs, const Config& standard, std::size_t most) {
  while (configs.size() > most) {
    std::vector<nlohmann::json> objects;
    for (const Config& config : configs) objects.push_back(to_json(config));
    const PointSet points(objects);
    const auto longest =
        std::max_element(points.axes().begin(), points.axes().end(), [](const auto& x, const auto& y) {
          return x.values.size() * (x.ordered ? 100 : 1) < y.values.size() * (y.ordered ? 100 : 1);
        });
    const std::size_t axis = std::size_t(longest - points.axes().begin());
    const auto kept = to_json(standard)[longest->name];
    std::vector<Config> fewer;
    for (std::size_t i = 0; i < configs.size(); ++i)
      if (points.at(i)[axis] % 2 == 1 || objects[i][longest->name] == kept) fewer.push_back(configs[i]);
    if (fewer.size() == configs.size()) break;
    configs = std::move(fewer);
  }
  return configs;
}

class Sweep {
 public:
  Sweep(const GemmProblem& problem, std::size_t most)
      : problem_(timed_problem(problem)), timer_(problem_, arena_) {
    const Isa isa = jit_available(Isa::avx512) ? Isa::avx512
                    : jit_available(Isa::avx2) ? Isa::avx2
                                               : Isa::portable;
    standard_ = gemm_small_cpu_default(problem_, isa);
    std::vector<Config> configs;
    gemm_small_cpu_space(problem_, isa).visit([&](const Config& config) {
      if (wanted(config, standard_, problem_.residency)) configs.push_back(config);
    });
    fmt::print("{}: {} points", to_string(problem_), configs.size());
    configs = thinned(std::move(configs), standard_, most);
    const Gate gate(problem_, isa);
    for (const Config& config : configs) {
      auto kernel = make_gemm_small_cpu(problem_, config);
      if (gate.run(*kernel).empty()) points_.push_back({config, std::move(kernel), {}});
    }
    fmt::print(", {} of {} kept are right\n", points_.size(), configs.size());
  }

  void run() {
    std::vector<std::size_t> order(points_.size());
    std::iota(order.begin(), order.end(), 0);
    rounds(order, first_rounds);
    std::sort(order.begin(), order.end(),
              [&](std::size_t x, std::size_t y) { return centre(x) < centre(y); });
    order.resize(order.size() / 10);
    rounds(order, best_rounds);
  }

  void write(const std::string& path, const std::string& command) {
    std::ofstream file(path);
    const auto base = to_json(standard_);
    file << nlohmann::json{{"command", command}}.dump() << '\n';
    file << nlohmann::json{{"base", base},
                           {"default_config", nlohmann::json::object()},
                           {"family", "gemm_small_cpu"},
                           {"problem", to_string(problem_)},
                           {"device", cpu_info().model},
                           {"commit", build_commit},
                           {"source_hash", gemm_small_cpu_source_hash},
                           {"time", time_now()}}
                .dump()
         << '\n';
    for (const Point& point : points_) {
      auto config = nlohmann::json::object();
      const auto fields = to_json(point.config);
      for (const auto& item : fields.items())
        if (item.value() != base[item.key()]) config[item.key()] = item.value();
      file << fmt::format("{{\"config\":{},\"seconds\":{:.4g}}}\n", config.dump(),
                          estimate(point.samples).centre);
    }
    if (!file.flush()) throw Error(ErrorCode::io, "FILE", fmt::format("FILE = '{}' cannot be written", path));
  }

 private:
  double centre(std::size_t i) const { return estimate(points_[i].samples).centre; }

  void rounds(std::vector<std::size_t> order, int count) {
    std::mt19937_64 random(3);
    for (int round = 0; round < count; ++round) {
      std::shuffle(order.begin(), order.end(), random);
      for (const std::size_t i : order)
        points_[i].samples.push_back(timer_.time(*points_[i].kernel, turn_s).seconds);
    }
  }

  GemmProblem problem_;
  Arena arena_;
  KernelTimer timer_;
  Config standard_;
  std::vector<Point> points_;
};

}  // namespace
}  // namespace tilewright

int main(int argc, char** argv) {
  using namespace tilewright;
  if (argc != 4) {
    fmt::print(stderr, "bench_sweep: FILE PROBLEM POINTS are wanted, {} arguments were given.\n", argc - 1);
    return 2;
  }
  try {
    Sweep sweep(parse_problem(argv[2]), std::size_t(std::stoul(argv[3])));
    sweep.run();
    sweep.write(argv[1], fmt::format("bench_sweep {} {} {}", argv[1], argv[2], argv[3]));
  } catch (const std::exception& error) {
    fmt::print(stderr, "bench_sweep: {}.\n", error.what());
    return 1;
  }
  return 0;
}
