// A batch streams: what takes longest decides, of the transfers in both directions, the copies into and out
// of pinned buffers, the products, and the host's memory, which all that read operands share.
#include <algorithm>
#include <cmath>

#include "gemm/hybrid/split/prediction.hpp"

namespace tilewright {
namespace {

// What queueing a piece takes a thread, and a launch.
constexpr double piece_s = 25e-6;

// What a thread of the CPU can read and write at most, and what a problem costs beside its work.
constexpr double thread_bytes_per_s = 12e9, problem_s = 5e-9;
// Small problems run so much slower than large ones: a part of each vector and each load is not used.
double small_factor(const GemmProblem& p) { return 1 + 12.0 / double(std::min({p.m, p.n, p.k})); }
// And on the CPU so much slower again than one large product with operands in its caches, and than the host's
// memory is read by copies (results/h100/hybrid-20261127-batches.jsonl.gz: n = 8 to 64).
constexpr double host_factor = 1.6, host_memory_share = 0.8;

// How many times a byte that is staged passes the host's memory beside the copy engine.
constexpr double copier_passes = 2;

bool is_pinned(const StreamShape& shape, const SplitRequest& request, ProductMatrix which) {
  return request.pinned[std::size_t(which)] && shape.block(which, nullptr, shape.whole({0, shape.along()}));
}

class BatchTime {
 public:
  BatchTime(const NodeModel& node, const SplitRequest& request)
      : node_(node), request_(request), shape_(request.problem, SplitSide::problems) {}

  SplitPrediction of(const Split& split) const {
    SplitPrediction all;
    const auto on_gpus = double(shape_.along() - split.host_count), on_host = double(split.host_count);
    if (!split.gpus.empty()) add_gpus(split, all);
    const double staged = staged_bytes(shape_, request_, on_gpus);
    const int copiers = staged > 0 && !split.gpus.empty() ? split.copy_threads : 0;
    const int threads = std::max(1, node_.host.threads - copiers - int(split.gpus.size()));
    if (split.host_count > 0) all.host_s = host_s(on_host, threads);
    all.seconds = std::max(all.gpu_s, all.host_s);
    if (split.host_count == 0 || split.gpus.empty()) return all;
    if (node_.host.memory_bytes_per_s > 0) {
      const double moved = host_bytes(on_host) + all.copied_bytes + copier_passes * staged;
      all.seconds = std::max(all.seconds, moved / (host_memory_share * node_.host.memory_bytes_per_s));
    }
    all.seconds += both_begin_s;
    return all;
  }

 private:
  double bytes_in(double problems) const {
    double bytes = 0;
    for (const ProductMatrix which : product_matrices)
      if (shape_.comes_with_pieces(which)) bytes += double(shape_.device_bytes(which, 1)) * problems;
    return bytes;
  }
  double bytes_out(double problems) const {
    return double(shape_.device_bytes(ProductMatrix::c, 1)) * problems;
  }
  // That the CPU moves: what it writes and has not read is read all the same.
  double host_bytes(double problems) const {
    return bytes_in(problems) + bytes_out(problems) * (shape_.reads_c() ? 1 : 2);
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

  void add_gpus(const Split& split, SplitPrediction& all) const {
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
      staged += staged_bytes(shape_, request_, double(share.count));
    }
    const double copying = staged * node_.host.copy_by(split.copy_threads).s_per_byte;
    all.gpu_s = std::max(all.gpu_s, copying) + node_.host.stream_start_s;
    if (node_.host.memory_bytes_per_s > 0)
      all.gpu_s =
          std::max(all.gpu_s, (all.copied_bytes + copier_passes * staged) / node_.host.memory_bytes_per_s);
  }

  const NodeModel& node_;
  const SplitRequest& request_;
  const StreamShape shape_;
};

}  // namespace

double staged_bytes(const StreamShape& shape, const SplitRequest& request, double problems) {
  double bytes = 0;
  for (const ProductMatrix which : product_matrices) {
    if (shape.is_shared(which) || is_pinned(shape, request, which)) continue;
    const double passes = which == ProductMatrix::c && shape.reads_c() ? 2 : 1;
    bytes += passes * double(shape.device_bytes(which, 1)) * problems;
  }
  return bytes;
}

SplitPrediction predict_batch(const NodeModel& node, const SplitRequest& request, const Split& split) {
  return BatchTime(node, request).of(split);
}

}  // namespace tilewright
