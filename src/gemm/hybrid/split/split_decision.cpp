// Comparisons, and their reasons in words.
#include "gemm/hybrid/split/split_decision.hpp"

#include <algorithm>

#include "gemm/hybrid/split/tiling.hpp"

namespace tilewright {

// Its prediction errs by about as much.
const double least_gain_together = 0.08;

namespace {

// Models are wrong by a few percent, and what takes part can fail: another processor has to bring this much.
constexpr double least_gain = 0.03;

constexpr int most_copiers = 16;  // 24 and 32 were slower at all sizes

[[noreturn]] void refuse_memory(const NodeModel& node, const SplitRequest& request) {
  throw Error(
      ErrorCode::out_of_memory, "memory_bytes",
      fmt::format("a cap of {} bytes of device memory holds not even one {}",
                  gpu_memory(node, request, request.gpus.front()),
                  request.problem.layout == Layout::single ? "tile of this product" : "piece of this batch"));
}

SplitChoice finish(const NodeModel& node, SplitChoice choice, const PlannedSplit& plan,
                   const std::string& reason) {
  choice.split = plan.split;
  choice.split.seconds = plan.prediction.seconds;
  choice.split.host_s = plan.prediction.host_s;
  choice.split.gpu_s = plan.prediction.gpu_s;
  choice.split.transfer_s = plan.prediction.transfer_s;
  choice.split.compute_s = plan.prediction.compute_s;
  choice.reason = reason + (node.calibrated ? "" : " (by round figures: not calibrated)");
  return choice;
}

SplitChoice told(const PlannedWays& ways) {
  SplitChoice choice;
  if (ways.host) choice.host_only_s = ways.host->seconds();
  if (ways.one_gpu) choice.one_gpu_s = ways.one_gpu->seconds();
  if (ways.all_gpus) choice.all_gpus_s = ways.all_gpus->seconds();
  if (ways.shared) choice.shared_s = ways.shared->seconds();
  return choice;
}

}  // namespace

const std::optional<PlannedSplit>& faster(const std::optional<PlannedSplit>& x,
                                          const std::optional<PlannedSplit>& y) {
  return y && (!x || y->seconds() < x->seconds() * (1 - least_gain)) ? y : x;
}

const std::optional<PlannedSplit>& PlannedWays::gpus() const { return faster(one_gpu, all_gpus); }

// More than some would wait for one another: they share a queue.
int copy_threads(const HostModel& host, bool multiplies) {
  const int most = std::clamp(host.threads / (multiplies ? 2 : 1), 1, most_copiers);
  const double best = host.copy_by(most).s_per_byte;
  for (const HostCopyTime& copy : host.copies)
    if (copy.threads <= most && copy.time.s_per_byte <= best * 1.05) return copy.threads;
  return most;
}

void check_split_request(const SplitRequest& r) {
  if (r.cpu_share && !(*r.cpu_share >= 0 && *r.cpu_share <= 1))
    throw Error(ErrorCode::invalid_argument, "cpu_share",
                fmt::format("cpu_share = {} is not between 0 and 1", *r.cpu_share));
  if (r.cpu_share && *r.cpu_share > 0 && !r.may_use_host)
    throw Error(ErrorCode::invalid_argument, "cpu_share",
                fmt::format("cpu_share = {}, but the CPU may not be used", *r.cpu_share));
  if (r.gpus.empty() && (!r.may_use_host || r.cpu_share.value_or(1) < 1))
    throw Error(ErrorCode::invalid_argument, "target",
                r.may_use_host ? fmt::format("cpu_share = {}, but there is no GPU for the rest", *r.cpu_share)
                               : "neither the CPU nor a GPU may be used");
}

SplitChoice decide_split(const NodeModel& node, const SplitRequest& request, const PlannedWays& ways) {
  const SplitChoice choice = told(ways);
  const std::optional<PlannedSplit>&host = ways.host, &gpus = ways.gpus(), &shared = ways.shared;
  const auto ms = [](const PlannedSplit& plan) { return plan.seconds() * 1e3; };
  if (request.cpu_share) {
    const double asked = *request.cpu_share;
    const std::optional<PlannedSplit>& taken = asked >= 1 ? host : asked > 0 ? ways.fixed : gpus;
    if (!taken) refuse_memory(node, request);
    return finish(node, choice, *taken, fmt::format("the CPU's share is {} as asked for", asked));
  }
  if (!host && !gpus) refuse_memory(node, request);
  if (!gpus)
    return finish(node, choice, *host,
                  request.gpus.empty() ? "there is no GPU that may be used"
                  : ways.gpus_hopeless
                      ? fmt::format("the CPU takes {:.3g} ms, less than GPUs' transfers", ms(*host))
                      : "not even one tile fits the GPUs' memory");
  if (!host) return finish(node, choice, *gpus, "the CPU may not be used");
  const bool host_wins = host->seconds() <= gpus->seconds();
  const PlannedSplit& better = host_wins ? *host : *gpus;
  if (shared && shared->seconds() < better.seconds() * (1 - least_gain_together))
    return finish(node, choice, *shared,
                  fmt::format("CPU and GPU together take {:.3g} ms of the {:.3g} ms of {} alone", ms(*shared),
                              ms(better), host_wins ? "the CPU" : "the GPUs"));
  if (host_wins)
    return finish(
        node, choice, *host,
        fmt::format("the CPU takes {:.3g} ms, GPUs {:.3g} ms with the transfers", ms(*host), ms(*gpus)));
  const std::string share = shared ? fmt::format("a share of the CPU's would make it {:.3g} ms", ms(*shared))
                                   : "the CPU's share would be smaller than a tile";
  return finish(node, choice, *gpus,
                fmt::format("GPUs take {:.3g} ms, the CPU {:.3g} ms; {}", ms(*gpus), ms(*host), share));
}

}  // namespace tilewright
