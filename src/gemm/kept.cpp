// Turns kept models into bounds and costs, and counts sectors column by column.
#include "gemm/kept.hpp"

#include <algorithm>

#include "core/date.hpp"
#include "core/problem.hpp"
#include "device/cpu.hpp"
#include "gemm/operand.hpp"

namespace tilewright {
namespace {

constexpr const char* layout_costs_model = "layout_costs";

constexpr std::int64_t most_counted = 256;  // matrices or blocks; the rest is in proportion

// Returns the bytes of distinct sectors that the columns of `count` matrices (or interleaved blocks) touch.
double sector_total(const GemmProblem& p, const OperandLayout& x, std::int64_t count) {
  const std::int64_t element = size_bytes(p.dtype), size = element * problems_per_step(p);
  const bool pointers = p.layout == Layout::pointer;
  const std::int64_t step =
      pointers ? gpu_pointer_distance(x.ld * x.cols, size_bytes(p.dtype)) * size : x.step * element;
  const std::int64_t matrices = (count + problems_per_step(p) - 1) / problems_per_step(p);
  const bool one = step == 0 && x.levels.outer_step == 0 && x.levels.outermost_step == 0;
  const std::int64_t stored = one ? 1 : matrices, counted = std::min(stored, most_counted);
  std::int64_t sectors = 0, last = -1;
  for (std::int64_t q = 0; q < counted; ++q)
    for (std::int64_t j = 0; j < x.cols; ++j) {
      const std::int64_t begin = (pointers ? q * step : x.offset(q) * element) + j * x.ld * size;
      const std::int64_t first = std::max(begin / gpu_sector_bytes, last + 1);
      const std::int64_t end = (begin + x.rows * size - 1) / gpu_sector_bytes;
      sectors += std::max<std::int64_t>(0, end - first + 1);
      last = std::max(last, end);
    }
  return double(sectors) * gpu_sector_bytes * double(stored) / double(counted);
}

// Counts sectors if places are known; for sizes in device memory, the bytes of the largest.
double moved_on_gpu(const GemmProblem& p) {
  const bool is_placed = p.layout != Layout::grouped && p.layout != Layout::variable;
  return is_placed && p.batch_count > 0 ? gpu_traffic(p).bytes : bytes(p);
}

std::optional<KeptBound> of(const Bound& bound, const std::string& time) {
  if (!(bound.seconds > 0)) return std::nullopt;
  return KeptBound{bound, time};
}

}  // namespace

GpuTraffic gpu_traffic(const GemmProblem& p) {
  GpuTraffic traffic;
  GpuStreamMix& mix = traffic.mix;
  mix.reads_c = p.beta != Scalar::zero;
  mix.a_bytes = sector_total(p, layout_a(p), p.batch_count);
  mix.b_bytes = sector_total(p, layout_b(p), p.batch_count);
  mix.c_bytes = sector_total(p, layout_c(p), count_of_c(p));
  traffic.bytes = mix.moved();
  if (p.layout == Layout::pointer) traffic.bytes += 3.0 * sizeof(void*) * double(p.batch_count);
  if (p.stride_a == 0 && p.layout == Layout::strided) mix.a_bytes = 0;  // what stays does not stream
  if (p.stride_b == 0 && p.layout == Layout::strided) mix.b_bytes = 0;
  return traffic;
}

std::optional<KeptBound> kept_bound(const GemmProblem& problem, const std::string& gpu, int threads) {
  const std::string path = kept_path(Environment::read());
  if (problem.location == Location::device) {
    const auto kept = load_gpu_ceilings(path, gpu);
    if (!kept) return std::nullopt;
    return of(bound_of(problem, *kept, moved_on_gpu(problem)), kept->time);
  }
  const auto kept = load_ceilings(path, cpu_info().device, threads);
  if (!kept) return std::nullopt;
  return of(bound_of(problem, *kept), kept->time);
}

std::vector<LayoutCosts> load_layout_costs(const std::string& path, const std::string& device) {
  std::vector<LayoutCosts> known;
  for (const FittedModel& model : kept_models(path, layout_costs_model, device))
    if (const auto costs = measured_of<LayoutCosts>(model)) known.push_back(*costs);
  return known;
}

void save_layout_costs(const std::string& path, const std::string& device, const LayoutCosts& c) {
  FittedModel model = model_of(layout_costs_model, c,
                               fmt::format("m={},n={},k={},from={},block={},residency={}", c.m, c.n, c.k,
                                           to_string(c.from), c.block, to_string(c.residency)));
  model.device = device, model.dtype = to_string(c.dtype), model.time = time_now();
  keep(path, model);
}

}  // namespace tilewright
