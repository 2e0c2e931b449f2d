// Checks of options, with their messages.
#include "gemm/hybrid/options.hpp"

#include <algorithm>

#include "core/refuse.hpp"

namespace tilewright {
namespace {

void check_split(const GemmOptions& o) {
  const std::string split = to_string(o.split);
  if (o.split == SplitRule::fixed && !o.cpu_share)
    refuse_argument("cpu_share", "cpu_share is missing: split = fixed needs it");
  if (o.cpu_share && o.split != SplitRule::fixed)
    refuse_argument("cpu_share",
                    fmt::format("cpu_share = {} needs split = fixed, but split = {}", *o.cpu_share, split));
  if (o.cpu_share && !(*o.cpu_share >= 0 && *o.cpu_share <= 1))
    refuse_argument("cpu_share", fmt::format("cpu_share = {} is not between 0 and 1", *o.cpu_share));
  if (o.target == Target::gpu && o.cpu_share.value_or(0) > 0)
    refuse_argument(
        "cpu_share",
        fmt::format("cpu_share = {} conflicts with target = gpu, which does not use the CPU", *o.cpu_share));
  const bool searches = o.split == SplitRule::guided || o.split == SplitRule::exhaustive;
  if (o.target == Target::gpu && searches)
    refuse_argument("split",
                    fmt::format("split = {} conflicts with target = gpu, which does not use the CPU", split));
  if (o.target == Target::cpu && o.split != SplitRule::model)
    refuse_argument("split",
                    fmt::format("split = {} conflicts with target = cpu, which does not use GPUs", split));
}

}  // namespace

bool wants_gpus(const PlanRequest& r) {
  if (r.problem.location != Location::host) return false;
  if (r.options.target == Target::automatic) return r.options.split != SplitRule::model;
  return r.options.target != Target::cpu;
}

void check_gpus(const std::vector<int>& gpus) {
  for (auto gpu = gpus.begin(); gpu != gpus.end(); ++gpu) {
    if (*gpu < 0) refuse_argument("gpus", fmt::format("gpus contains {}, which is negative", *gpu));
    if (std::find(gpus.begin(), gpu, *gpu) != gpu)
      refuse_argument("gpus", fmt::format("gpus contains {} twice", *gpu));
  }
}

void check_hybrid_options(const GemmOptions& o) {
  check_gpus(o.gpus);
  refuse_negative("gpu_memory_bytes", o.gpu_memory_bytes);
  check_split(o);
}

}  // namespace tilewright
