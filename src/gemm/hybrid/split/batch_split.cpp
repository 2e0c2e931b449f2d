// A batch streams: what takes longest decides, of the transfers in both directions, the copies into and out
// of pinned buffers, the products, and the host's memory, which all that read operands share.
#include "gemm/hybrid/split/batch_split.hpp"

#include <algorithm>
#include <cmath>

#include "gemm/hybrid/split/batch_shape.hpp"
#include "gemm/hybrid/split/split_decision.hpp"
#include "gemm/hybrid/split/tiling.hpp"

namespace tilewright {
namespace {

constexpr std::int64_t slots = 4;  // pieces in flight
// Of a share, unless memory allows fewer: little is left to wait for at both ends.
constexpr double usual_pieces = 32;
constexpr double least_piece_bytes = 1 << 20, most_piece_bytes = 32 << 20;
// What queueing a piece takes a thread, and a launch.
constexpr double piece_s = 25e-6;

// What a thread of the CPU can read and write at most, and what a problem costs beside its work.
constexpr double thread_bytes_per_s = 12e9, problem_s = 5e-9;
// Small problems run so much slower than large ones: a part of each vector and each load is not used.
double small_factor(const GemmProblem& p) { return 1 + 12.0 / double(std::min({p.m, p.n, p.k})); }
// And on the CPU so much slower again than one large product with operands in its caches, and than the host's
// memory is read by copies (results/h100/hybrid-20261127-batches.jsonl.gz: n = 8 to 64).
constexpr double host_factor = 1.6, host_memory_share = 0.8;

// Until both are at work beyond what each of them needs, as in prediction.cpp.
constexpr double both_begin_s = 300e-6;
// How many times a byte that is staged passes the host's memory beside the copy engine.
constexpr double staged_passes = 2;

class BatchChooser {
 public:
  BatchChooser(const NodeModel& node, const SplitRequest& request)
      : node_(node), request_(request), shape_(request.problem), count_(request.problem.batch_count) {}

  SplitChoice choose() {
    check_split_request(request_);
    PlannedWays ways;
    if (request_.may_use_host) ways.host = planned(0, 1);
    const double asked = request_.cpu_share.value_or(0);
    if (!request_.gpus.empty() && asked < 1) {
      ways.one_gpu = planned(1, 0);
      if (request_.gpus.size() > 1) ways.all_gpus = planned(request_.gpus.size(), 0);
    }
    if (ways.one_gpu && request_.may_use_host) {
      const std::size_t gpus = ways.gpus()->split.gpus.size();
      if (request_.cpu_share && asked > 0)
        ways.fixed = planned(gpus, asked);
      else if (!request_.cpu_share)
        ways.shared = best_share(gpus);
    }
    return decide_split(node_, request_, ways);
  }

 private:
  std::optional<PlannedSplit> best_share(std::size_t gpus) const {
    std::optional<PlannedSplit> best;
    constexpr int steps = 50;
    for (int i = 1; i < steps; ++i) {
      const std::optional<PlannedSplit> plan = planned(gpus, double(i) / steps);
      const bool is_shared = plan && plan->split.host_count > 0 && plan->split.gpus.size() == gpus;
      if (is_shared && (!best || plan->seconds() < best->seconds())) best = plan;
    }
    return best;
  }

  // Nothing where a GPU holds no piece.
  std::optional<PlannedSplit> planned(std::size_t gpus, double cpu_share) const {
    PlannedSplit plan;
    Split& split = plan.split;
    split.side = SplitSide::problems;
    const std::int64_t grain = request_.cpu_share ? 1 : shape_.grain();
    split.host_count =
        std::min(count_, std::int64_t(std::llround(cpu_share * double(count_) / double(grain))) * grain);
    split.host_first = count_ - split.host_count;
    // Borders of blocks are the GPUs'.
    if (split.host_first < count_) split.host_first = split.host_first / shape_.grain() * shape_.grain();
    split.host_count = count_ - split.host_first;
    std::int64_t first = 0;
    for (std::size_t i = 0; i < gpus && split.host_first > 0; ++i) {
      const std::int64_t border = split.host_first * std::int64_t(i + 1) / std::int64_t(gpus);
      const std::int64_t end = i + 1 == gpus ? split.host_first : border / shape_.grain() * shape_.grain();
      if (end <= first) continue;
      GpuShare share;
      share.gpu = request_.gpus[i], share.first = first, share.count = end - first;
      if (!cut(share)) return std::nullopt;
      split.gpus.push_back(share);
      first = end;
    }
    const bool staged = staged_bytes(1) > 0;
    split.copy_threads = staged && !split.gpus.empty() ? copy_threads(node_.host, split.host_count > 0) : 1;
    predict(plan);
    return plan;
  }

  double device_bytes(std::int64_t problems) const {
    double bytes = 0;
    for (const BatchMatrix which : batch_matrices)
      if (!shape_.is_shared(which)) bytes += double(shape_.device_bytes(which, problems));
    return bytes;
  }
  double shared_bytes() const {
    double bytes = 0;
    for (const BatchMatrix which : batch_matrices)
      if (shape_.is_shared(which)) bytes += double(shape_.device_bytes(which, 1));
    return bytes;
  }

  bool cut(GpuShare& share) const {
    const double each = device_bytes(1);
    const double left = double(gpu_memory(node_, request_, share.gpu)) - shared_bytes();
    const double wanted =
        std::clamp(each * double(share.count) / usual_pieces, least_piece_bytes, most_piece_bytes);
    const auto in_grains = [&](double bytes) {
      const auto problems = std::int64_t(bytes / std::max(1.0, each));
      return std::clamp(problems / shape_.grain() * shape_.grain(), std::min(shape_.grain(), share.count),
                        share.count);
    };
    share.tile = in_grains(wanted);
    for (share.stages = int(slots); share.stages > 1; --share.stages)
      if (device_bytes(share.tile) * share.stages <= left) return true;
    share.stages = 2;
    share.tile = in_grains(left / 2);
    if (device_bytes(share.tile) * 2 <= left) return true;
    share.stages = 1;
    return device_bytes(share.tile) <= left;
  }

  bool is_pinned(BatchMatrix which) const {
    const IndexRange whole{0, count_};
    if (!shape_.block(which, whole)) return false;
    return which == BatchMatrix::a   ? request_.pinned_a
           : which == BatchMatrix::b ? request_.pinned_b
                                     : request_.pinned_c;
  }
  double bytes_in(double problems) const {
    double bytes = 0;
    for (const BatchMatrix which : batch_matrices)
      if (!shape_.is_shared(which) && (which != BatchMatrix::c || shape_.reads_c()))
        bytes += double(shape_.device_bytes(which, 1)) * problems;
    return bytes;
  }
  double bytes_out(double problems) const {
    return double(shape_.device_bytes(BatchMatrix::c, 1)) * problems;
  }
  // That the CPU moves: what it writes and has not read is read all the same.
  double host_bytes(double problems) const {
    return bytes_in(problems) + bytes_out(problems) * (shape_.reads_c() ? 1 : 2);
  }
  double staged_bytes(double problems) const {
    double bytes = 0;
    for (const BatchMatrix which : batch_matrices) {
      if (is_pinned(which) || shape_.is_shared(which)) continue;
      const double passes = which == BatchMatrix::c && shape_.reads_c() ? 2 : 1;
      bytes += passes * double(shape_.device_bytes(which, 1)) * problems;
    }
    return bytes;
  }

  double compute_s(const GpuModel& gpu, double problems) const {
    const GemmProblem& p = shape_.problem();
    const GemmTime& time = gpu.gemm[std::size_t(p.dtype)];
    const double flops_s =
        time.s_per_product * double(p.m) * double(p.n) * double(p.k) * small_factor(p) * problems;
    const double moved = bytes_in(problems) + bytes_out(problems);
    return std::max(flops_s, gpu.memory_bytes_per_s > 0 ? moved / gpu.memory_bytes_per_s : 0);
  }

  double host_s(double problems, int threads) const {
    const GemmProblem& p = shape_.problem();
    const GemmTime& time = node_.host.gemm[std::size_t(p.dtype)];
    const double scale = double(node_.host.threads) / threads;
    const double flops_s = time.s_per_product * double(p.m) * double(p.n) * double(p.k) * small_factor(p) *
                           host_factor * problems * scale;
    double rate = thread_bytes_per_s * threads;
    if (node_.host.memory_bytes_per_s > 0)
      rate = std::min(rate, host_memory_share * node_.host.memory_bytes_per_s);
    const double moved = host_bytes(problems);
    return std::max(flops_s, moved / rate) + problem_s * problems / threads;
  }

  void predict_gpus(const Split& split, SplitPrediction& all) const {
    double staged = 0;
    for (const GpuShare& share : split.gpus) {
      const GpuModel& gpu = node_.gpus[std::size_t(share.gpu)];
      const double in = bytes_in(double(share.count)) * gpu.to_device.s_per_byte;
      const double out = bytes_out(double(share.count)) * gpu.to_host.s_per_byte;
      const double slower = gpu.duplex * node_.together.slower(split.gpus.size(), gpu.duplex);
      const double moving = std::max(in, out) + (slower - 1) * std::min(in, out);
      const double computing = compute_s(gpu, double(share.count));
      const double pieces = std::ceil(double(share.count) / double(share.tile));
      // The first piece comes, and the last one leaves, while nothing else does.
      const double ends = (in + out + computing) / pieces + gpu.to_device.start_s + gpu.to_host.start_s;
      all.transfer_s = std::max(all.transfer_s, std::max(in, out));
      all.compute_s = std::max(all.compute_s, computing);
      all.gpu_s = std::max(all.gpu_s, std::max({moving, computing, piece_s * pieces}) + ends);
      all.copied_bytes += bytes_in(double(share.count)) + bytes_out(double(share.count));
      staged += staged_bytes(double(share.count));
    }
    const double copying = staged * node_.host.copy_by(split.copy_threads).s_per_byte;
    all.gpu_s = std::max(all.gpu_s, copying) + node_.host.stream_start_s;
    if (node_.host.memory_bytes_per_s > 0)
      all.gpu_s =
          std::max(all.gpu_s, (all.copied_bytes + staged_passes * staged) / node_.host.memory_bytes_per_s);
  }

  void predict(PlannedSplit& plan) const {
    const Split& split = plan.split;
    SplitPrediction& all = plan.prediction;
    if (!split.gpus.empty()) predict_gpus(split, all);
    const double staged = staged_bytes(double(count_ - split.host_count));
    const int copiers = staged > 0 && !split.gpus.empty() ? split.copy_threads : 0;
    const int threads = std::max(1, node_.host.threads - copiers - int(split.gpus.size()));
    if (split.host_count > 0) all.host_s = host_s(double(split.host_count), threads);
    all.seconds = std::max(all.gpu_s, all.host_s);
    if (split.host_count == 0 || split.gpus.empty()) return;
    if (node_.host.memory_bytes_per_s > 0) {
      const double moved = host_bytes(double(split.host_count)) + all.copied_bytes + staged_passes * staged;
      all.seconds = std::max(all.seconds, moved / (host_memory_share * node_.host.memory_bytes_per_s));
    }
    all.seconds += both_begin_s;
  }

  const NodeModel& node_;
  const SplitRequest& request_;
  const BatchShape shape_;
  const std::int64_t count_;
};

}  // namespace

SplitChoice choose_batch_split(const NodeModel& node, const SplitRequest& request) {
  return BatchChooser(node, request).choose();
}

}  // namespace tilewright
