// From kept models to a bound and to costs.
#include "gemm/kept.hpp"

#include "core/date.hpp"
#include "core/problem.hpp"
#include "device/cpu.hpp"
#include "gemm/device/traffic.hpp"

namespace tilewright {
namespace {

constexpr const char* layout_costs_model = "layout_costs";

// In sectors where the places of the matrices are known; of sizes that lie in device memory the bytes of the
// largest.
double moved_on_gpu(const GemmProblem& p) {
  const bool is_placed = p.layout != Layout::grouped && p.layout != Layout::variable;
  return is_placed && p.batch_count > 0 ? gpu_traffic(p).bytes : bytes(p);
}

std::optional<KeptBound> of(const Bound& bound, const std::string& time) {
  if (!(bound.seconds > 0)) return std::nullopt;
  return KeptBound{bound, time};
}

}  // namespace

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
