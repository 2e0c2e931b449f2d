// What can be judged without a machine.
#include "gemm/hybrid/options.hpp"

#include <algorithm>

#include "core/refuse.hpp"

namespace tilewright {
namespace {

void check_split(const GemmOptions& o) {
  const std::string way = to_string(o.split);
  if (o.split == SplitWay::fixed && !o.cpu_share)
    refuse_argument("cpu_share", "cpu_share is not given, which split = fixed needs");
  if (o.cpu_share && o.split != SplitWay::fixed)
    refuse_argument("cpu_share", fmt::format("cpu_share = {} is given, but split = {}", *o.cpu_share, way));
  if (o.cpu_share && !(*o.cpu_share >= 0 && *o.cpu_share <= 1))
    refuse_argument("cpu_share", fmt::format("cpu_share = {} is not between 0 and 1", *o.cpu_share));
  if (o.target == Target::gpu && o.cpu_share.value_or(0) > 0)
    refuse_argument("cpu_share",
                    fmt::format("cpu_share = {}, but target = gpu leaves the CPU out", *o.cpu_share));
  const bool searches = o.split == SplitWay::guided || o.split == SplitWay::exhaustive;
  if (o.target == Target::gpu && searches)
    refuse_argument(
        "split", fmt::format("split = {} searches for the CPU's share, but target = gpu leaves it out", way));
  if (o.target == Target::cpu && o.split != SplitWay::model)
    refuse_argument("split", fmt::format("split = {}, but target = cpu leaves the GPUs out", way));
}

}  // namespace

bool wants_gpus(const PlanRequest& r) {
  if (r.problem.location != Location::host) return false;
  if (r.options.target == Target::automatic) return r.options.split != SplitWay::model;
  return r.options.target != Target::cpu;
}

void check_gpus(const std::vector<int>& gpus) {
  for (auto gpu = gpus.begin(); gpu != gpus.end(); ++gpu) {
    if (*gpu < 0) refuse_argument("gpus", fmt::format("gpus has {}, which is negative", *gpu));
    if (std::find(gpus.begin(), gpu, *gpu) != gpu)
      refuse_argument("gpus", fmt::format("gpus has {} twice", *gpu));
  }
}

void check_hybrid_options(const GemmOptions& o) {
  check_gpus(o.gpus);
  refuse_negative("gpu_memory_bytes", o.gpu_memory_bytes);
  check_split(o);
}

}  // namespace tilewright
