// The cheap reasons come first: a small product on the host is declined by a few comparisons.
#include "gemm/hybrid/models.hpp"

#include <algorithm>

#include "core/quantity.hpp"
#include "gemm/context_impl.hpp"
#include "gemm/hybrid/node.hpp"
#include "gemm/hybrid/options.hpp"
#include "gemm/parallel.hpp"
#include "gemm/run/host.hpp"

namespace tilewright {
namespace {

// Threads, launches and transfers of a GPU take at least this.
constexpr double least_gpu_s = 30e-6;

// PCIe 5 with 16 lanes. The CPU keeps a batch that it multiplies so many times as fast as the link would move
// it; round figures of a CPU's time err by a factor of two.
constexpr double fastest_link_bytes_per_s = 64e9, clearly_faster = 2.5;

int threads_of(const PlanRequest& r) {
  return r.options.threads > 0 ? r.options.threads : omp_get_max_threads();
}

bool wants_host(const PlanRequest& r) { return r.options.target != Target::gpu; }

// The options' GPUs as positions among those of the machine.
std::vector<int> positions(const std::vector<HybridGpu>& all, const std::vector<int>& asked) {
  std::vector<int> found;
  for (const int ordinal : asked) {
    const auto it =
        std::find_if(all.begin(), all.end(), [&](const auto& gpu) { return gpu.ordinal == ordinal; });
    if (it == all.end())
      throw Error(
          ErrorCode::invalid_argument, "gpus",
          fmt::format("gpus contains {}, but this machine has {}", ordinal, counted(std::ssize(all), "GPU")));
    found.push_back(int(it - all.begin()));
  }
  return found;
}

}  // namespace

std::string why_not_shared(const PlanRequest& r) {
  const GemmProblem& p = r.problem;
  if (p.location == Location::device) return "needs operands in host memory";
  if (r.options.target == Target::cpu) return "target = cpu excludes it";
  if (std::min({p.m, p.n, p.k, p.batch_count}) == 0 || p.alpha == Scalar::zero)
    return "there is no product to compute";
  if (!r.options.config.empty()) return "takes no config, but one was given";
  const bool is_batch = p.layout != Layout::single;
  if (is_batch && (r.options.split == SplitRule::guided || r.options.split == SplitRule::exhaustive))
    return fmt::format("split = {} is for single products", to_string(r.options.split));
  const bool asked = wants_gpus(r) || r.options.candidate == hybrid_candidate.name;
  if (!asked && estimate_s(p) < least_gpu_s)
    return fmt::format("about {} of work, less than the start of a GPU takes", seconds_text(estimate_s(p)));
  if (!asked && is_batch &&
      clearly_faster * estimate_s(p) / threads_of(r) < bytes(p) / fastest_link_bytes_per_s)
    return "the CPU computes the problems faster than a link could transfer them to a GPU";
  if (!asked && r.options.objective != Objective::time) return "its models predict time only";
  std::string why_none;
  if (r.context.hybrid->gpus(&why_none).empty()) return why_none;
  const std::string no_cblas = why_not_by_cblas(*r.context.cblas(), p);
  if (!is_batch && !no_cblas.empty() && r.options.target != Target::gpu)
    return "the CPU's part needs a CBLAS: " + no_cblas;
  return "";
}

namespace {

// An option that the call leaves open, from an environment variable.
template <class Value>
Value from_environment(const char* name, const std::string& text, std::optional<Value> value,
                       const char* wanted) {
  if (value) return *value;
  throw Error(ErrorCode::invalid_argument, name, fmt::format("{} = '{}' is not {}", name, text, wanted));
}

// The GPUs that may be used, as positions, and the bytes of each; 0: all that are free. Unless named, ranks
// of one node share its GPUs, and the memory of one that several have (core/env.hpp).
struct Permitted {
  std::vector<int> gpus;
  std::int64_t memory_bytes = 0;
};

Permitted permitted(const PlanRequest& r) {
  const std::vector<HybridGpu>& all = r.context.hybrid->gpus();
  const Environment& environment = r.context.environment;
  Permitted p;
  int sharers = 1;
  if (!r.options.gpus.empty()) {
    p.gpus = positions(all, r.options.gpus);
  } else if (!environment.gpus.empty()) {
    p.gpus =
        positions(all, from_environment("TILEWRIGHT_GPUS", environment.gpus, gpus_from_text(environment.gpus),
                                        "a number of GPUs from 1 on, or a list of them such as 0,2"));
  } else {
    GpuPart part = part_of_gpus(r.context.environment.local, int(all.size()));
    p.gpus = std::move(part.positions), sharers = part.sharers;
  }
  if (r.options.gpu_memory_bytes > 0)
    p.memory_bytes = r.options.gpu_memory_bytes;
  else if (!environment.gpu_memory.empty())
    p.memory_bytes = from_environment("TILEWRIGHT_GPU_MEMORY", environment.gpu_memory,
                                      bytes_from_text(environment.gpu_memory),
                                      "a number of bytes such as 8GiB, 500MiB or 8e9");
  else if (sharers > 1)
    p.memory_bytes = all[std::size_t(p.gpus.front())].memory_bytes / sharers;
  return p;
}

}  // namespace

HybridModels hybrid_models(const PlanRequest& r) {
  HybridModels models;
  const auto cblas = r.context.cblas();
  models.node =
      r.context.hybrid->model(r.context.wisdom(), cblas->available() ? cblas->name() : "", threads_of(r));
  SplitRequest& request = models.request;
  request.problem = r.problem;
  request.may_use_host = wants_host(r);
  request.gpus_add = true;
  Permitted may = permitted(r);
  request.gpus = std::move(may.gpus);
  request.memory_bytes = may.memory_bytes;
  request.cpu_share = r.options.cpu_share;
  return models;
}

SplitChoice choose_split(const HybridModels& models, bool pinned) {
  SplitRequest request = models.request;
  if (pinned) request.pinned = all_matrices;
  return choose_split(*models.node, request);
}

}  // namespace tilewright
