// The ways of a single product: the CPU, one GPU, all of them, CPU and GPUs, each predicted with the tiles
// that serve it best.
#include "gemm/hybrid/split/split.hpp"

#include <algorithm>
#include <cmath>

#include "gemm/hybrid/split/batch_split.hpp"
#include "gemm/hybrid/split/split_decision.hpp"
#include "gemm/hybrid/split/tiling.hpp"

namespace tilewright {
namespace {

constexpr std::int64_t share_grain = 32;  // columns (or rows) that shares are multiples of
constexpr std::int64_t usual_ring_bytes = std::int64_t(64) << 20;

class Chooser {
 public:
  Chooser(const NodeModel& node, const SplitRequest& request) : node_(node), request_(request) {}

  SplitChoice choose() {
    check_split_request(request_);
    PlannedWays ways;
    if (request_.may_use_host) ways.host = host_only();
    const double asked = request_.cpu_share.value_or(0);
    ways.gpus_hopeless =
        ways.host && !request_.gpus.empty() && !request_.cpu_share && gpus_are_hopeless(ways.host->seconds());
    if (!request_.gpus.empty() && asked < 1 && !ways.gpus_hopeless) {
      ways.one_gpu = best_of_sides(1, 0);
      if (request_.gpus.size() > 1) ways.all_gpus = best_of_counts();
    }
    if (ways.one_gpu && request_.may_use_host) {
      if (request_.cpu_share && asked > 0)
        ways.fixed = best_of_sides(ways.gpus()->split.gpus.size(), asked);
      else if (!request_.cpu_share)
        ways.shared = best_share(*ways.gpus(), ways.host->seconds());
    }
    return decide_split(node_, request_, ways);
  }

 private:
  // Whether no way with a GPU can be taken, by what the least of its transfers and products cost: a plan
  // takes milliseconds, and products that the CPU makes in less are many. A GPU receives one operand whole
  // and, for a share x of the product, that much of the other's and of C's bytes; the CPU meanwhile does the
  // rest.
  bool gpus_are_hopeless(double host_s) const {
    const GemmProblem& p = request_.problem;
    const double es = double(size_bytes(p.dtype)), c = double(p.m) * double(p.n) * es;
    const double a = double(p.m) * double(p.k) * es, b = double(p.k) * double(p.n) * es;
    double start = host_s, whole = 0;
    for (const int index : request_.gpus) {
      const GpuModel& gpu = node_.gpus[std::size_t(index)];
      const StepCost product = product_cost(gpu, p);
      const double in = gpu.to_device.s_per_byte, out = gpu.to_host.s_per_byte;
      start = std::min(start, gpu.to_device.of(std::min(a, b)) + product.start_s + gpu.to_host.start_s);
      const double own = std::max({std::max(a, b) * in, c * out, product.seconds});
      whole = whole == 0 ? own : std::min(whole, own);
    }
    whole /= double(std::max<std::size_t>(1, request_.gpus.size()));
    return host_s <= start + whole && host_s - start < least_gain_together * (host_s + whole);
  }

  PlannedSplit host_only() const {
    PlannedSplit plan;
    plan.split.host_count = request_.problem.n;
    plan.split.copy_threads = 1;
    plan.prediction = predict(node_, request_, plan.split);
    return plan;
  }

  // Shares of the first `count` GPUs, in proportion to what each can do by itself.
  Split shares_of(SplitSide side, std::size_t count, double cpu_share) const {
    const StreamShape shape(request_.problem, side);
    Split split;
    split.side = side;
    const std::int64_t host =
        std::int64_t(std::llround(cpu_share * double(shape.along()) / share_grain)) * share_grain;
    // As asked for exactly, where that is not by a model.
    const std::int64_t exact = std::int64_t(std::llround(cpu_share * double(shape.along())));
    split.host_count = std::min(shape.along(), request_.cpu_share ? exact : host);
    split.host_first = shape.along() - split.host_count;
    std::vector<double> rates;
    double sum = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const GpuModel& gpu = node_.gpus[std::size_t(request_.gpus[i])];
      const double moved = (double(shape.across()) + double(shape.k())) * double(shape.along()) *
                           double(shape.element_bytes()) * gpu.to_device.s_per_byte;
      rates.push_back(1 / std::max({moved, product_cost(gpu, request_.problem).seconds, 1e-12}));
      sum += rates.back();
    }
    double done = 0;
    std::int64_t first = 0;
    for (std::size_t i = 0; i < count; ++i) {
      done += rates[i];
      const double border = double(split.host_first) * done / sum / share_grain;
      const std::int64_t end =
          i + 1 == count ? split.host_first
                         : std::min<std::int64_t>(split.host_first, std::llround(border) * share_grain);
      if (end > first) split.gpus.push_back({request_.gpus[i], first, end - first});
      first = std::max(first, end);
    }
    split.copy_threads = 1;
    if (request_.pinned_a && request_.pinned_b && request_.pinned_c) return split;
    split.copy_threads = copy_threads(node_.host, split.host_count > 0);
    split.ring_bytes = usual_ring_bytes;
    return split;
  }

  std::optional<PlannedSplit> planned(SplitSide side, std::size_t count, double cpu_share) const {
    PlannedSplit plan;
    plan.split = shares_of(side, count, cpu_share);
    if (!cut_into_tiles(node_, request_, plan.split)) return std::nullopt;
    plan.prediction = predict(node_, request_, plan.split);
    return plan;
  }

  std::optional<PlannedSplit> best_of_sides(std::size_t count, double cpu_share) const {
    const std::optional<PlannedSplit> columns = planned(SplitSide::columns, count, cpu_share);
    const std::optional<PlannedSplit> rows = planned(SplitSide::rows, count, cpu_share);
    // Whole columns lie together; rows have to be a gain.
    return faster(columns, rows);
  }

  std::optional<PlannedSplit> best_of_counts() const {
    std::optional<PlannedSplit> best;
    for (std::size_t count = 2; count <= request_.gpus.size(); ++count) {
      const std::optional<PlannedSplit> plan = best_of_sides(count, 0);
      if (plan && (!best || plan->seconds() < best->seconds())) best = plan;
    }
    return best;
  }

  // The share that brings both to their end at once if neither slowed the other, and shares around it: the
  // time has one minimum, which is followed downhill with the tiles of the GPUs' own plan.
  std::optional<PlannedSplit> best_share(const PlannedSplit& gpus, double host_s) const {
    const double balance = gpus.seconds() / (gpus.seconds() + std::max(host_s, 1e-12));
    if (balance * double(StreamShape(request_.problem, gpus.split.side).along()) < share_grain)
      return std::nullopt;
    std::optional<PlannedSplit> best;
    const auto try_share = [&](double share) {
      PlannedSplit plan;
      plan.split = shares_of(gpus.split.side, gpus.split.gpus.size(), share);
      if (plan.split.gpus.size() != gpus.split.gpus.size() || plan.split.host_count <= 0) return false;
      for (std::size_t i = 0; i < plan.split.gpus.size(); ++i)
        take_tiles_of(gpus.split.gpus[i], plan.split.gpus[i]);
      plan.prediction = predict(node_, request_, plan.split);
      const bool better = !best || plan.seconds() < best->seconds();
      if (better) best = plan;
      return better;
    };
    double at = balance;
    try_share(at);
    double step = balance / 2;
    for (int i = 0; i < 6; ++i, step /= 2) {
      if (try_share(at - step))
        at -= step;
      else if (at + step < 1 && try_share(at + step))
        at += step;
    }
    if (!best || best->seconds() > gpus.seconds() * (1 - least_gain_together)) return best;
    // Worth having: with tiles of its own.
    const double share =
        double(best->split.host_count) / double(StreamShape(request_.problem, best->split.side).along());
    const std::optional<PlannedSplit> own = planned(best->split.side, best->split.gpus.size(), share);
    return own && own->seconds() < best->seconds() ? own : best;
  }

  const NodeModel& node_;
  const SplitRequest& request_;
};

}  // namespace

SplitChoice choose_split(const NodeModel& node, const SplitRequest& request) {
  if (request.problem.layout != Layout::single) return choose_batch_split(node, request);
  return Chooser(node, request).choose();
}

}  // namespace tilewright
