// Measures how well the cost model of large GEMM orders measured configs: files of bench_gemm_large keep the
// time of each config that a contest screened. For each problem and card with enough of them the model's
// first choice is compared with the fastest, and so is the best of its first six. No GPU is needed.
//
//     bench_gemm_large_regret results/h200/gemm-*.jsonl* > regret.jsonl
//
// Rows of configs outside the current space are left out, and so are problems of a card with fewer than eight
// others. The card is assumed to be an H200.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cards.hpp"
#include "core/input/json_text.hpp"
#include "core/json.hpp"
#include "core/problem.hpp"
#include "kernel/gemm_large/gemm_large.hpp"
#include "measure/recorded_file.hpp"
#include "program.hpp"
#include "wisdom/wisdom.hpp"

namespace tilewright::bench {
namespace {

constexpr std::size_t least_configs = 8, first_ones = 6;

struct Screened {
  double cycles, seconds;
};
// Contests by type, then by problem and card.
using Contests = std::map<std::string, std::map<std::string, std::vector<Screened>>>;

GemmLargeDevice h200() {
  const GpuLimits limits = limits_of_card("NVIDIA H200");
  return gemm_large_device(limits, fitted_coefficients(nullptr, limits.name, architecture_of(limits)));
}

// Returns nothing if the row has an axis that no longer exists.
std::optional<GemmLargeConfig> config_of(const nlohmann::json& row) {
  try {
    return from_json<GemmLargeConfig>(row.at("config"));
  } catch (const Error&) {
    return std::nullopt;
  }
}

void add_rows(const std::string& path, const GemmLargeDevice& limits, Contests& contests) {
  std::istringstream file = read_recorded(path, "FILE", ErrorCode::io);
  for (std::string line; std::getline(file, line);) {
    const auto row = parse_json_or_discard(line);
    if (!row.is_object() || row.value("phase", "") != "screened" || !(row.value("seconds", 0.0) > 0))
      continue;
    const GemmProblem p = packed(parse_problem(row.at("problem").get<std::string>()));
    const GemmLargeShape shape = gemm_large_shape(p);
    const auto c = config_of(row);
    if (!c || !gemm_large_space(p, shape, limits).contains(*c)) continue;
    const double cycles = gemm_large_cost(p, shape, *c, limits).cycles() *
                          gemm_large_correction(*c, shape, limits.of(p.dtype).corrections);
    contests[std::string(to_string(p.dtype))][to_string(p) + row.value("device_uuid", "")].push_back(
        {cycles, row.at("seconds").get<double>()});
  }
}

// Logarithms of times over the fastest one's.
struct Regret {
  double first = 0, six = 0;
};

Regret regret_of(std::vector<Screened> contest) {
  std::stable_sort(contest.begin(), contest.end(),
                   [](const Screened& x, const Screened& y) { return x.cycles < y.cycles; });
  const auto fastest = [&](std::size_t count) {
    return std::min_element(contest.begin(), contest.begin() + std::ptrdiff_t(count),
                            [](const Screened& x, const Screened& y) { return x.seconds < y.seconds; })
        ->seconds;
  };
  const double best = fastest(contest.size());
  return {std::log(contest.front().seconds / best), std::log(fastest(first_ones) / best)};
}

int run(int argc, char** argv) {
  const GemmLargeDevice limits = h200();
  Contests contests;
  for (int i = 1; i < argc; ++i) add_rows(argv[i], limits, contests);
  for (const auto& [dtype, of_type] : contests) {
    Regret sum;
    std::size_t configs = 0, count = 0;
    for (const auto& [problem, contest] : of_type) {
      if (contest.size() < least_configs) continue;
      const Regret one = regret_of(contest);
      sum.first += one.first, sum.six += one.six;
      configs += contest.size(), ++count;
    }
    if (count == 0) continue;
    const nlohmann::json line = {{"dtype", dtype},
                                 {"problems", count},
                                 {"configs", configs},
                                 {"first_over_fastest", std::exp(sum.first / double(count))},
                                 {"best_of_six_over_fastest", std::exp(sum.six / double(count))}};
    fmt::print("{}\n", line.dump());
  }
  return 0;
}

}  // namespace
}  // namespace tilewright::bench

int main(int argc, char** argv) {
  return tilewright::bench::run_program("bench_gemm_large_regret", argc, 1, "FILE...", [&] {
    tilewright::bench::print_command(argc, argv);
    return tilewright::bench::run(argc, argv);
  });
}
