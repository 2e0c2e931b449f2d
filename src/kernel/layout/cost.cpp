// Decides when converting a batch pays, from measured costs.
#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "core/quantity.hpp"
#include "core/refuse.hpp"
#include "kernel/layout/layout.hpp"

namespace tilewright {
namespace {

std::string nanoseconds(double seconds) { return fmt::format("{:.3g} ns", seconds * 1e9); }

// Returns the distance of two sizes, which is small if their ratios are near 1.
double distance(const LayoutCosts& costs, const GemmProblem& problem) {
  const auto ratio = [](std::int64_t x, std::int64_t y) {
    return std::abs(std::log2(double(x < 1 ? 1 : x)) - std::log2(double(y < 1 ? 1 : y)));
  };
  return ratio(costs.m, problem.m) + ratio(costs.n, problem.n) + ratio(costs.k, problem.k);
}

}  // namespace

LayoutConfig layout_default(DType dtype) { return {.block = 64 / size_bytes(dtype)}; }

Space<LayoutConfig> layout_space(DType dtype) {
  constexpr std::int64_t vector_bytes = 32, most_bytes = 512;
  const std::int64_t size = size_bytes(dtype);
  Space<LayoutConfig> space;
  space.axis(&LayoutConfig::block, {2, 4, 8, 16, 32, 64, 128});
  space.require("a block holds whole vectors of 32 bytes",
                [size](const LayoutConfig& c) { return c.block * size % vector_bytes == 0; });
  space.require("an element of a block takes at most eight vectors of 64 bytes",
                [size](const LayoutConfig& c) { return c.block * size <= most_bytes; });
  return space;
}

std::int64_t recommended_block(DType dtype) {
  refuse_unnamed("dtype", dtype, DType::c128);
  return layout_default(dtype).block;
}

// r uses cost in + r * interleaved + out with conversion and r * direct without.
std::optional<std::int64_t> conversion_reuse_threshold(const LayoutCosts& costs) {
  const double gain = costs.direct_s - costs.interleaved_s;
  const double price = costs.convert_in_s + costs.convert_out_s;
  if (!(gain > 0) || !(price / gain < 1e15)) return std::nullopt;
  return std::max<std::int64_t>(1, std::int64_t(std::ceil(price / gain)));
}

const LayoutCosts* nearest_costs(std::span<const LayoutCosts> table, const GemmProblem& problem) {
  const LayoutCosts* nearest = nullptr;
  const auto rank = [&](const LayoutCosts& c) {
    return std::pair(distance(c, problem), c.convert_in_s + c.interleaved_s + c.convert_out_s);
  };
  for (const LayoutCosts& costs : table) {
    const bool fits = costs.dtype == problem.dtype && costs.from == problem.layout &&
                      (problem.residency == Residency::automatic || costs.residency == problem.residency);
    if (fits && (nearest == nullptr || rank(costs) < rank(*nearest))) nearest = &costs;
  }
  return nearest;
}

std::string explain_conversion(const GemmProblem& problem, const LayoutCosts* costs) {
  if (is_interleaved(problem.layout)) return "conversion: the data are already interleaved";
  if (problem.layout != Layout::strided && problem.layout != Layout::pointer)
    return "conversion: only strided and pointer batches can be interleaved";
  const bool on_gpu = problem.location == Location::device;
  if (costs == nullptr)
    return fmt::format("conversion: no costs are recorded for {} batches of {}{}, so none is considered; {}",
                       to_string(problem.layout), to_string(problem.dtype), on_gpu ? " on this GPU" : "",
                       on_gpu
                           ? "'tilewright bench layout --location device' measures them"
                           : "'tilewright tune --family layout' and 'tilewright bench layout' measure them");
  const bool exact = costs->m == problem.m && costs->n == problem.n && costs->k == problem.k;
  const std::string size =
      exact ? "" : fmt::format(" (measured at m={},n={},k={})", costs->m, costs->n, costs->k);
  const std::string kernels = fmt::format("the kernel takes {} per problem in this layout and {} interleaved",
                                          nanoseconds(costs->direct_s), nanoseconds(costs->interleaved_s));
  const auto threshold = conversion_reuse_threshold(*costs);
  if (!threshold) return fmt::format("conversion: never pays: {}{}", kernels, size);
  return fmt::format(
      "conversion: to blocks of {} pays if the data are reused at least {}: {}, converting {} in and "
      "{} out{}",
      costs->block, counted(*threshold, "time"), kernels, nanoseconds(costs->convert_in_s),
      nanoseconds(costs->convert_out_s), size);
}

}  // namespace tilewright
