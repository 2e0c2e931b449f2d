// Looks ceilings up in what is kept of this machine.
#include "output/cpu_bound.hpp"

#include <algorithm>

#include "core/env.hpp"
#include "device/cpu.hpp"
#include "wisdom/kept.hpp"

namespace tilewright::cli {

std::optional<Bound> cpu_bound(DType dtype, double flops, double moved, int threads) {
  const auto kept = load_ceilings(kept_path(Environment::read()), cpu_info().device, threads);
  if (!kept) return std::nullopt;
  const double compute = kept->compute_gflops(dtype), memory = kept->memory_gbytes(true);
  const double compute_s = compute > 0 ? flops / (compute * 1e9) : 0;
  const double memory_s = memory > 0 ? moved / (memory * 1e9) : 0;
  Bound bound;
  bound.seconds = std::max(compute_s, memory_s);
  if (!(bound.seconds > 0)) return std::nullopt;
  bound.gflops = flops / bound.seconds * 1e-9;
  bound.kind = memory_s > compute_s ? "memory" : "compute";
  bound.ceiling = memory_s > compute_s ? memory : compute;
  return bound;
}

void add_cpu_bound(nlohmann::json& row, const std::optional<Bound>& bound, double seconds) {
  if (!bound || !(seconds > 0)) return;
  row["bound_gflops"] = bound->gflops, row["bound_share"] = bound->seconds / seconds;
  row["bound_kind"] = bound->kind, row["ceiling"] = bound->ceiling;
}

}  // namespace tilewright::cli
