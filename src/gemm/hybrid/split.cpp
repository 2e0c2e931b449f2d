// The choice: each way (the CPU, one GPU, all of them, CPU and GPUs) is predicted with the tiles that serve
// it best, and the fastest is taken, or the simpler one where the models cannot tell.
#include "gemm/hybrid/split.hpp"

#include <algorithm>
#include <cmath>

#include "gemm/hybrid/prediction.hpp"
#include "gemm/hybrid/tiling.hpp"

namespace tilewright {
namespace {

// Models are wrong by a few percent, and what takes part can fail: another processor has to bring this much.
constexpr double least_gain = 0.03;
// Of a part for the CPU, whose prediction errs by about as much.
constexpr double least_gain_together = 0.08;
constexpr std::int64_t share_grain = 32;  // columns (or rows) that shares are multiples of
constexpr std::int64_t usual_ring_bytes = std::int64_t(64) << 20;

struct Planned {
  Split split;
  SplitPrediction prediction;
  double seconds() const { return prediction.seconds; }
};

constexpr int most_copiers = 16;  // 24 and 32 were slower at all sizes

class Chooser {
 public:
  Chooser(const NodeModel& node, const SplitRequest& request) : node_(node), request_(request) {}

  SplitChoice choose() {
    check();
    SplitChoice choice;
    std::optional<Planned> host, one, all, shared, fixed;
    if (request_.may_use_host) host = host_only();
    const double asked = request_.cpu_share.value_or(0);
    if (!request_.gpus.empty() && asked < 1) {
      one = best_of_sides(1, 0);
      if (request_.gpus.size() > 1) all = best_of_counts();
    }
    if (one && request_.may_use_host) {
      if (request_.cpu_share && asked > 0)
        fixed = best_of_sides(fastest(one, all)->split.gpus.size(), asked);
      else if (!request_.cpu_share)
        shared = best_share(*fastest(one, all), host->seconds());
    }
    tell(choice, host, one, all, shared);
    if (request_.cpu_share) {
      const std::optional<Planned>& taken = asked >= 1 ? host : asked > 0 ? fixed : fastest(one, all);
      if (!taken) refuse_memory();
      return finish(choice, *taken, fmt::format("the CPU's share is {} as asked for", asked));
    }
    if (!host && !one) refuse_memory();
    return decide(choice, host, fastest(one, all), shared);
  }

 private:
  void check() const {
    if (request_.cpu_share && !(*request_.cpu_share >= 0 && *request_.cpu_share <= 1))
      throw Error(ErrorCode::invalid_argument, "cpu_share",
                  fmt::format("cpu_share = {} is not between 0 and 1", *request_.cpu_share));
    if (request_.cpu_share && *request_.cpu_share > 0 && !request_.may_use_host)
      throw Error(ErrorCode::invalid_argument, "cpu_share",
                  fmt::format("cpu_share = {}, but the CPU may not be used", *request_.cpu_share));
    if (request_.gpus.empty() && (!request_.may_use_host || request_.cpu_share.value_or(1) < 1))
      throw Error(ErrorCode::invalid_argument, "target",
                  request_.may_use_host
                      ? fmt::format("cpu_share = {}, but there is no GPU for the rest", *request_.cpu_share)
                      : "neither the CPU nor a GPU may be used");
  }

  [[noreturn]] void refuse_memory() const {
    throw Error(ErrorCode::out_of_memory, "memory_bytes",
                fmt::format("a cap of {} bytes of device memory holds not even one tile of this product",
                            gpu_memory(node_, request_, request_.gpus.front())));
  }

  static const std::optional<Planned>& fastest(const std::optional<Planned>& x,
                                               const std::optional<Planned>& y) {
    return y && (!x || y->seconds() < x->seconds() * (1 - least_gain)) ? y : x;
  }

  Planned host_only() const {
    Planned plan;
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
    split.copy_threads = copy_threads(split.host_count > 0);
    split.ring_bytes = usual_ring_bytes;
    return split;
  }

  // The fewest threads that copy about as fast as any number does; half of all where the CPU multiplies. More
  // than some would wait for one another: they share a queue.
  int copy_threads(bool host) const {
    const int most = std::clamp(node_.host.threads / (host ? 2 : 1), 1, most_copiers);
    const double best = node_.host.copy_by(most).s_per_byte;
    for (const HostCopyTime& copy : node_.host.copies)
      if (copy.threads <= most && copy.time.s_per_byte <= best * 1.05) return copy.threads;
    return most;
  }

  std::optional<Planned> planned(SplitSide side, std::size_t count, double cpu_share) const {
    Planned plan;
    plan.split = shares_of(side, count, cpu_share);
    if (!cut_into_tiles(node_, request_, plan.split)) return std::nullopt;
    plan.prediction = predict(node_, request_, plan.split);
    return plan;
  }

  std::optional<Planned> best_of_sides(std::size_t count, double cpu_share) const {
    const std::optional<Planned> columns = planned(SplitSide::columns, count, cpu_share);
    const std::optional<Planned> rows = planned(SplitSide::rows, count, cpu_share);
    // Whole columns lie together; rows have to be a gain.
    return fastest(columns, rows);
  }

  std::optional<Planned> best_of_counts() const {
    std::optional<Planned> best;
    for (std::size_t count = 2; count <= request_.gpus.size(); ++count) {
      const std::optional<Planned> plan = best_of_sides(count, 0);
      if (plan && (!best || plan->seconds() < best->seconds())) best = plan;
    }
    return best;
  }

  // The share that brings both to their end at once if neither slowed the other, and shares around it: the
  // time has one minimum, which is followed downhill with the tiles of the GPUs' own plan.
  std::optional<Planned> best_share(const Planned& gpus, double host_s) const {
    const double balance = gpus.seconds() / (gpus.seconds() + std::max(host_s, 1e-12));
    if (balance * double(StreamShape(request_.problem, gpus.split.side).along()) < share_grain)
      return std::nullopt;
    std::optional<Planned> best;
    const auto try_share = [&](double share) {
      Planned plan;
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
    const std::optional<Planned> own = planned(best->split.side, best->split.gpus.size(), share);
    return own && own->seconds() < best->seconds() ? own : best;
  }

  static void tell(SplitChoice& choice, const std::optional<Planned>& host, const std::optional<Planned>& one,
                   const std::optional<Planned>& all, const std::optional<Planned>& shared) {
    if (host) choice.host_only_s = host->seconds();
    if (one) choice.one_gpu_s = one->seconds();
    if (all) choice.all_gpus_s = all->seconds();
    if (shared) choice.shared_s = shared->seconds();
  }

  SplitChoice decide(SplitChoice& choice, const std::optional<Planned>& host,
                     const std::optional<Planned>& gpus, const std::optional<Planned>& shared) const {
    const auto ms = [](const Planned& plan) { return plan.seconds() * 1e3; };
    if (!gpus) {
      if (request_.gpus.empty()) return finish(choice, *host, "there is no GPU that may be used");
      return finish(choice, *host, "not even one tile fits the GPUs' memory");
    }
    if (!host) return finish(choice, *gpus, "the CPU may not be used");
    const bool host_wins = host->seconds() <= gpus->seconds();
    const Planned& better = host_wins ? *host : *gpus;
    if (shared && shared->seconds() < better.seconds() * (1 - least_gain_together))
      return finish(choice, *shared,
                    fmt::format("CPU and GPU together take {:.3g} ms of the {:.3g} ms of {} alone",
                                ms(*shared), ms(better), host_wins ? "the CPU" : "the GPUs"));
    if (host_wins)
      return finish(
          choice, *host,
          fmt::format("the CPU takes {:.3g} ms, GPUs {:.3g} ms with the transfers", ms(*host), ms(*gpus)));
    const std::string share = shared
                                  ? fmt::format("a share of the CPU's would make it {:.3g} ms", ms(*shared))
                                  : "the CPU's share would be smaller than a tile";
    return finish(choice, *gpus,
                  fmt::format("GPUs take {:.3g} ms, the CPU {:.3g} ms; {}", ms(*gpus), ms(*host), share));
  }

  SplitChoice finish(SplitChoice& choice, const Planned& plan, const std::string& reason) const {
    choice.split = plan.split;
    choice.split.seconds = plan.prediction.seconds;
    choice.split.host_s = plan.prediction.host_s;
    choice.split.gpu_s = plan.prediction.gpu_s;
    choice.split.transfer_s = plan.prediction.transfer_s;
    choice.split.compute_s = plan.prediction.compute_s;
    choice.reason = reason + (node_.calibrated ? "" : " (by round figures: not calibrated)");
    return choice;
  }

  const NodeModel& node_;
  const SplitRequest& request_;
};

}  // namespace

SplitChoice choose_split(const NodeModel& node, const SplitRequest& request) {
  return Chooser(node, request).choose();
}

}  // namespace tilewright
