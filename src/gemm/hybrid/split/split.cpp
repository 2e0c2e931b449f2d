// Takes the fastest of CPU, one GPU, all GPUs, and all together by prediction; of equals the simplest.
#include <algorithm>
#include <cmath>

#include "core/quantity.hpp"
#include "gemm/hybrid/split/prediction.hpp"
#include "gemm/hybrid/split/shares.hpp"

namespace tilewright {
namespace {

constexpr std::int64_t default_ring_bytes = std::int64_t(64) << 20;
constexpr int shares_tried = 50;  // of a batch

using MaybeSplit = std::optional<Split>;

// The least gain of a part for the CPU beside GPUs: its prediction errs by about as much.
constexpr double least_gain_together = 0.08;
// The least gain of another processor: models err by a few percent, and each that takes part can fail.
constexpr double least_gain = 0.03;

// The second asks for more than the first, and is taken only if it gains enough.
const MaybeSplit& faster(const MaybeSplit& x, const MaybeSplit& y) {
  return y && (!x || y->seconds < x->seconds * (1 - least_gain)) ? y : x;
}

// Alternatives that are not possible have no value.
struct PlannedSplits {
  MaybeSplit host, one_gpu, all_gpus;
  MaybeSplit shared;           // by CPU and GPUs, as the models say
  MaybeSplit fixed;            // likewise, with the share that was asked for
  bool gpus_hopeless = false;  // not planned: the CPU ends before they could
  const MaybeSplit& gpus() const { return faster(one_gpu, all_gpus); }
};

constexpr int most_copiers = 16;  // they share a queue: 24 and 32 were slower at all sizes

// The fewest threads that copy about as fast as any number does; at most half of all if the CPU multiplies.
int copy_threads(const HostModel& host, bool multiplies) {
  const int most = std::clamp(host.threads / (multiplies ? 2 : 1), 1, most_copiers);
  const double best = host.copy_by(most).s_per_byte;
  for (const HostCopyTime& copy : host.copies)
    if (copy.threads <= most && copy.time.s_per_byte <= best * 1.05) return copy.threads;
  return most;
}

[[noreturn]] void refuse_memory(const NodeModel& node, const SplitRequest& request) {
  throw Error(
      ErrorCode::out_of_memory, "memory_bytes",
      fmt::format("{} bytes of device memory are too few for one {}",
                  gpu_memory(node, request, request.gpus.front()),
                  request.problem.layout == Layout::single ? "tile of this product" : "piece of this batch"));
}

SplitChoice finish(const NodeModel& node, SplitChoice choice, const Split& split, const std::string& reason) {
  choice.split = split;
  choice.reason = reason + (node.calibrated ? "" : " (by round figures: not calibrated)");
  return choice;
}

// Throws Error(out_of_memory) if there is no alternative.
SplitChoice decide_split(const NodeModel& node, const SplitRequest& request, const PlannedSplits& splits) {
  const MaybeSplit &host = splits.host, &gpus = splits.gpus(), &shared = splits.shared;
  const auto seconds = [](const MaybeSplit& x) { return x ? std::optional(x->seconds) : std::nullopt; };
  const SplitChoice choice{
      {}, seconds(host), seconds(splits.one_gpu), seconds(splits.all_gpus), seconds(shared), ""};
  const auto time = [](const Split& split) { return seconds_text(split.seconds); };
  if (request.cpu_share) {
    const double asked = *request.cpu_share;
    const MaybeSplit& taken = asked >= 1 ? host : asked > 0 ? splits.fixed : gpus;
    if (!taken) refuse_memory(node, request);
    return finish(node, choice, *taken, fmt::format("the CPU's share is {}, as requested", asked));
  }
  if (!host && !gpus) refuse_memory(node, request);
  if (!gpus)
    return finish(node, choice, *host,
                  request.gpus.empty() ? "no GPU may be used"
                  : splits.gpus_hopeless
                      ? fmt::format("the CPU takes {}, less than the transfers of GPUs", time(*host))
                      : "not even one tile fits the GPUs' memory");
  if (!host) return finish(node, choice, *gpus, "the CPU may not be used");
  const bool host_wins = host->seconds <= gpus->seconds;
  const Split& better = host_wins ? *host : *gpus;
  if (shared && shared->seconds < better.seconds * (1 - least_gain_together))
    return finish(node, choice, *shared,
                  fmt::format("CPU and GPU together take {} of the {} of {} alone", time(*shared),
                              time(better), host_wins ? "the CPU" : "the GPUs"));
  if (host_wins)
    return finish(node, choice, *host,
                  fmt::format("the CPU takes {}, GPUs {} with the transfers", time(*host), time(*gpus)));
  const std::string share = shared ? fmt::format("with a share for the CPU it would be {}", time(*shared))
                                   : "the CPU's share would be smaller than a tile";
  return finish(node, choice, *gpus,
                fmt::format("GPUs take {}, the CPU {}; {}", time(*gpus), time(*host), share));
}

class Chooser {
 public:
  Chooser(const NodeModel& node, const SplitRequest& request)
      : node_(node), request_(request), is_batch_(request.problem.layout != Layout::single) {}

  SplitChoice choose() {
    check_processors();
    PlannedSplits splits;
    if (request_.may_use_host) splits.host = host_only();
    const double asked = request_.cpu_share.value_or(0);
    splits.gpus_hopeless = splits.host && !is_batch_ && !request_.gpus.empty() && !request_.cpu_share &&
                           gpus_are_hopeless(splits.host->seconds);
    if (!request_.gpus.empty() && asked < 1 && !splits.gpus_hopeless) {
      splits.one_gpu = best_of_sides(1, 0);
      if (request_.gpus.size() > 1) splits.all_gpus = best_of_counts();
    }
    if (splits.one_gpu && request_.may_use_host) {
      if (request_.cpu_share && asked > 0)
        splits.fixed = best_of_sides(splits.gpus()->gpus.size(), asked);
      else if (!request_.cpu_share)
        splits.shared = is_batch_ ? best_batch_share(splits.gpus()->gpus.size())
                                  : best_share(*splits.gpus(), splits.host->seconds);
    }
    return decide_split(node_, request_, splits);
  }

 private:
  void check_processors() const {
    if (!request_.gpus.empty() || (request_.may_use_host && request_.cpu_share.value_or(1) >= 1)) return;
    throw Error(ErrorCode::invalid_argument, "target",
                request_.may_use_host
                    ? fmt::format("cpu_share = {}, but there is no GPU for the rest", *request_.cpu_share)
                    : "neither the CPU nor a GPU may be used");
  }

  // True if the least that transfers and products of GPUs cost rules them out. This saves planning, which
  // takes milliseconds, for products that the CPU computes in less. A GPU receives one operand whole and, for
  // a share x of the product, that much of the other's and of C's bytes; the CPU meanwhile does the rest.
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

  Split predicted(Split split) const {
    static_cast<SplitPrediction&>(split) = predict(node_, request_, split);
    return split;
  }

  Split host_only() const {
    Split split;
    split.side = is_batch_ ? SplitSide::problems : SplitSide::columns;
    split.host_count = StreamShape(request_.problem, split.side).along();
    return predicted(split);
  }

  // The part of the product that a GPU alone computes per second. GPUs have equal shares of a batch.
  double rate(const StreamShape& shape, int index) const {
    if (shape.is_batch()) return 1;
    const GpuModel& gpu = node_.gpus[std::size_t(index)];
    const double moved = (double(shape.across()) + double(shape.k())) * double(shape.along()) *
                         double(shape.element_bytes()) * gpu.to_device.s_per_byte;
    return 1 / std::max({moved, product_cost(gpu, request_.problem).seconds, 1e-12});
  }

  // Shares of the first `count` GPUs in proportion to their rates.
  Split shares_of(SplitSide side, std::size_t count, double cpu_share) const {
    const StreamShape shape(request_.problem, side);
    const std::int64_t along = shape.along(), grain = shape.grain();
    Split split;
    split.side = side;
    const std::int64_t unit = request_.cpu_share ? 1 : grain;  // a share of the caller: exactly
    split.host_first =
        along - std::min(along, std::int64_t(std::llround(cpu_share * double(along) / double(unit))) * unit);
    // The border of a batch is one of its blocks.
    if (shape.is_batch() && split.host_first < along) split.host_first -= split.host_first % grain;
    split.host_count = along - split.host_first;
    double sum = 0, done = 0;
    for (std::size_t i = 0; i < count; ++i) sum += rate(shape, request_.gpus[i]);
    std::int64_t first = 0;
    for (std::size_t i = 0; i < count; ++i) {
      done += rate(shape, request_.gpus[i]);
      const double border = double(split.host_first) * done / sum / double(grain);
      const std::int64_t grains = std::int64_t(shape.is_batch() ? border : std::round(border));
      const std::int64_t end = i + 1 == count ? split.host_first : std::min(split.host_first, grains * grain);
      if (end > first) split.gpus.push_back({request_.gpus[i], first, end - first});
      first = std::max(first, end);
    }
    const bool copies = is_batch_ ? !split.gpus.empty() && staged_bytes(shape, request_, 1) > 0
                                  : request_.pinned != all_matrices;
    if (copies) split.copy_threads = copy_threads(node_.host, split.host_count > 0);
    if (copies && !is_batch_) split.ring_bytes = default_ring_bytes;
    return split;
  }

  MaybeSplit planned(SplitSide side, std::size_t count, double cpu_share) const {
    Split split = shares_of(side, count, cpu_share);
    if (!cut_into_tiles(node_, request_, split)) return std::nullopt;
    return predicted(std::move(split));
  }

  MaybeSplit best_of_sides(std::size_t count, double cpu_share) const {
    if (is_batch_) return planned(SplitSide::problems, count, cpu_share);
    const MaybeSplit columns = planned(SplitSide::columns, count, cpu_share);
    const MaybeSplit rows = planned(SplitSide::rows, count, cpu_share);
    // Whole columns lie together; rows must gain enough.
    return faster(columns, rows);
  }

  MaybeSplit best_of_counts() const {
    MaybeSplit best;
    const std::size_t all = request_.gpus.size();
    for (std::size_t count = is_batch_ ? all : 2; count <= all; ++count) {
      const MaybeSplit split = best_of_sides(count, 0);
      if (split && (!best || split->seconds < best->seconds)) best = split;
    }
    return best;
  }

  // Descends from the share with which both would end at once if neither slowed the other: the time has one
  // minimum. The tiles are those of the GPUs' own split.
  MaybeSplit best_share(const Split& gpus, double host_s) const {
    const double balance = gpus.seconds / (gpus.seconds + std::max(host_s, 1e-12));
    const StreamShape shape(request_.problem, gpus.side);
    if (balance * double(shape.along()) < double(shape.grain())) return std::nullopt;
    MaybeSplit best;
    const auto try_share = [&](double share) {
      Split split = shares_of(gpus.side, gpus.gpus.size(), share);
      if (split.gpus.size() != gpus.gpus.size() || split.host_count <= 0) return false;
      for (std::size_t i = 0; i < split.gpus.size(); ++i) take_tiles_of(gpus.gpus[i], split.gpus[i]);
      split = predicted(std::move(split));
      const bool better = !best || split.seconds < best->seconds;
      if (better) best = split;
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
    if (!best || best->seconds > gpus.seconds * (1 - least_gain_together)) return best;
    // It gains enough: cut it into tiles of its own.
    const double share = double(best->host_count) / double(shape.along());
    const MaybeSplit own = planned(best->side, best->gpus.size(), share);
    return own && own->seconds < best->seconds ? own : best;
  }

  // Cutting a batch is cheap, so that all shares are tried in steps.
  MaybeSplit best_batch_share(std::size_t gpus) const {
    MaybeSplit best;
    for (int i = 1; i < shares_tried; ++i) {
      const MaybeSplit split = planned(SplitSide::problems, gpus, double(i) / shares_tried);
      const bool is_shared = split && split->host_count > 0 && split->gpus.size() == gpus;
      if (is_shared && (!best || split->seconds < best->seconds)) best = split;
    }
    return best;
  }

  const NodeModel& node_;
  const SplitRequest& request_;
  bool is_batch_;
};

}  // namespace

SplitChoice choose_split(const NodeModel& node, const SplitRequest& request) {
  return Chooser(node, request).choose();
}

}  // namespace tilewright
