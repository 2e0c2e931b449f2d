// Reads seeds and finds those of a problem.
#include "gemm_small_seeds.hpp"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

namespace tilewright::bench {

Seeds::Seeds(const std::string& path) {
  if (path.empty()) return;
  std::ifstream file(path);
  if (!file) throw Error(ErrorCode::io, "--seeds", "'" + path + "' cannot be read");
  for (std::string line; std::getline(file, line);) {
    const auto row = nlohmann::json::parse(line);
    if (row.value("family", "") != "gemm_small" || !row.contains("config")) continue;
    seeds_.push_back({parse_problem(row.at("problem")), from_json<GemmSmallConfig>(row.at("config"))});
  }
}

std::vector<GemmSmallConfig> Seeds::of(const GemmProblem& p) const {
  std::vector<const Seed*> found;
  const GemmProblem wanted = packed(p);
  for (const Seed& seed : seeds_) {
    const GemmProblem q = packed(seed.problem);  // with the leading dimensions that its text leaves out
    const bool lies_alike = q.lda == wanted.lda && q.ldb == wanted.ldb && q.ldc == wanted.ldc;
    if (lies_alike && q.dtype == p.dtype && q.op_a == p.op_a && q.op_b == p.op_b && q.m == p.m &&
        q.n == p.n && q.k == p.k && q.layout == p.layout && q.beta == p.beta)
      found.push_back(&seed);
  }
  const auto distance = [&](const Seed* seed) {
    return std::abs(std::log(double(seed->problem.batch_count) / double(p.batch_count)));
  };
  std::stable_sort(found.begin(), found.end(),
                   [&](const Seed* x, const Seed* y) { return distance(x) < distance(y); });
  std::vector<GemmSmallConfig> configs;
  for (const Seed* seed : found) {
    configs.push_back(seed->config);
    if (seed->config.load == GemmSmallLoad::direct || p.layout != Layout::strided) continue;
    configs.push_back(seed->config);
    configs.back().shift_bytes = 128;
  }
  return configs;
}

}  // namespace tilewright::bench
