// Reads the parameters from models, and applies the rules of how cuBLAS adds up to a product.
#include "kernel/gemm_large/model.hpp"

#include <algorithm>
#include <cmath>

namespace tilewright {
namespace {

// A product as the rules see it. A batch, which is not measured, counts as one C of the same size.
struct SharedProduct {
  SharedProduct(const GemmProblem& p, double multiprocessor_count)
      : m(double(p.m)),
        n(double(p.n)),
        k(double(p.k)),
        multiprocessors(multiprocessor_count),
        batch(double(std::max<std::int64_t>(1, p.batch_count))),
        size(std::sqrt(m * n * batch)),
        ops(std::string(p.op_a == Op::none ? "n" : "t") + (p.op_b == Op::none ? "n" : "t")),
        odd((p.m | p.n | p.k) % 2 != 0) {}

  // Returns the largest share that any of `tiles` fills of its waves.
  double filled(const std::vector<std::array<double, 2>>& tiles) const {
    double most = 0;
    for (const auto& [tile_m, tile_n] : tiles) {
      const double count = std::ceil(m / tile_m) * std::ceil(n / tile_n) * batch;
      most = std::max(most, count / (std::ceil(count / multiprocessors) * multiprocessors));
    }
    return most;
  }

  double m, n, k, multiprocessors, batch, size;
  std::string ops;
  bool odd;
};

bool holds(const CublasSumRule& rule, const SharedProduct& p) {
  const double relative_k = p.k / p.size;
  const auto below = [](double value, double bound) { return bound == 0 || value < bound; };
  const auto up_to = [](double value, double bound) { return bound == 0 || value <= bound; };
  if (!rule.ops.empty() && std::find(rule.ops.begin(), rule.ops.end(), p.ops) == rule.ops.end()) return false;
  if (!rule.parity.empty() && p.odd != (rule.parity == "odd")) return false;
  if (p.k < rule.k_from || p.size < rule.size_from || p.size <= rule.size_above) return false;
  if (!up_to(p.size, rule.size_to) || !below(p.size, rule.size_below)) return false;
  if (relative_k < rule.relative_k_from || !up_to(relative_k, rule.relative_k_to)) return false;
  if (!below(relative_k, rule.relative_k_below)) return false;
  return rule.tiles.empty() ||
         (p.filled(rule.tiles) >= rule.filled_from && below(p.filled(rule.tiles), rule.filled_below));
}

CublasSums sums_of(nlohmann::json coefficients) {
  CublasSums sums;
  for (const auto& rule : coefficients.value("rules", nlohmann::json::array()))
    sums.rules.push_back(from_json<CublasSumRule>(rule));
  for_each_field<CublasSums>([&](const auto& f) {
    sums.*(f.member) = from_json<CublasFewestTerms>(coefficients.value(f.name, nlohmann::json::object()));
  });
  return sums;
}

const CublasFewestTerms& fewest_of(const CublasSums& sums, const GemmProblem& p, double size) {
  const std::int64_t side = std::min(p.m, p.n), other = std::max(p.m, p.n);
  if (side <= 128 && other >= std::max<std::int64_t>(16 * side, 1000)) return sums.oblong;
  if (side <= 64) return sums.to_64;
  if (side <= 128) return sums.to_128;
  if (side <= 512) return sums.to_512;
  return size >= 2048 ? sums.huge : sums.large;
}

}  // namespace

GemmLargeDevice gemm_large_device(const GpuLimits& limits, const FindCoefficients& find) {
  GemmLargeDevice device(limits);
  for (const auto& [dtype, name] : EnumNames<DType>::value) {
    auto& known = device.known[std::size_t(dtype)];
    if (auto sums = find("cublas_sums", dtype); !sums.is_null()) known.sums = sums_of(std::move(sums));
    if (const auto factors = find("gemm_large_corrections", dtype); !factors.is_null())
      known.corrections = from_json<GemmLargeCorrections>(factors);
  }
  return device;
}

double cublas_terms(const GemmProblem& p, const GemmLargeDevice& device) {
  const CublasSums& sums = device.of(p.dtype).sums;
  if (sums.rules.empty()) return 0;
  const SharedProduct product(p, device.multiprocessors);
  const auto rule = std::find_if(sums.rules.begin(), sums.rules.end(),
                                 [&](const CublasSumRule& one) { return holds(one, product); });
  if (rule == sums.rules.end() || !rule->shares) return 0;
  if (rule->parts > 0) return product.k / rule->parts;
  const CublasFewestTerms& fewest = fewest_of(sums, p, product.size);
  const double side = std::min(product.m, product.n);
  double parts = fewest.parts * std::pow(std::max(1.0, product.k / 65536), fewest.growth);
  if (side > 128 && side <= 512) parts *= 256 / side;
  return std::max({fewest.least, product.k / parts, fewest.root * std::sqrt(product.k)});
}

}  // namespace tilewright
