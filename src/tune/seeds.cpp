// Reads lines and compares problems.
#include "tune/seeds.hpp"

#include <algorithm>
#include <cmath>
#include <fstream>

#include "core/fields.hpp"
#include "core/input/json_text.hpp"

namespace tilewright {
namespace {

// What must be the same.
GemmProblem without_count(GemmProblem p) {
  p.batch_count = 1;
  if (p.layout == Layout::interleaved) p.block = 1;
  p.stride_a = p.stride_b = p.stride_c = 0;
  p.alpha = Scalar::one;
  p.residency = Residency::cold;
  return packed(p);
}

}  // namespace

Seeds::Seeds(const std::string& path) {
  std::ifstream file(path);
  if (!file)
    throw Error(ErrorCode::invalid_argument, "--seeds", fmt::format("--seeds = '{}' cannot be read", path));
  auto base = nlohmann::json::object();  // of a sweep's turns, which say what differs from it
  int number = 0;
  const auto take = [&](const nlohmann::json& row) {
    if (row.contains("base")) base = row["base"];
    if (!row.contains("problem") || !row.contains("config") || !row["config"].is_object()) return;
    const bool of_sweep = !row.contains("family");
    nlohmann::json config = of_sweep ? base : nlohmann::json::object();
    config.update(row["config"]);
    seeds_.push_back({row.value("family", ""), parse_problem(row["problem"].get<std::string>()), config});
  };
  for (std::string line; next_line(file, line);) {
    ++number;
    visit_json(line, take, [&](const std::string& why) {
      throw Error(ErrorCode::io, "--seeds",
                  fmt::format("--seeds = '{}': line {} cannot be read ({})", path, number, why));
    });
  }
}

std::vector<nlohmann::json> Seeds::of(const std::string& family, const GemmProblem& problem) const {
  const GemmProblem wanted = without_count(problem);
  std::vector<const Seed*> found;
  for (const Seed& seed : seeds_)
    if ((seed.family.empty() || seed.family == family) && without_count(seed.problem) == wanted)
      found.push_back(&seed);
  const auto distance = [&](const Seed* seed) {
    return std::abs(std::log(double(seed->problem.batch_count) / double(problem.batch_count)));
  };
  std::stable_sort(found.begin(), found.end(),
                   [&](const Seed* x, const Seed* y) { return distance(x) < distance(y); });
  std::vector<nlohmann::json> configs;
  for (const Seed* seed : found)
    if (std::find(configs.begin(), configs.end(), seed->config) == configs.end())
      configs.push_back(seed->config);
  return configs;
}

}  // namespace tilewright
