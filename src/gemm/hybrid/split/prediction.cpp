// A single product is predicted by its steps on a timeline; then copies take a part of the CPU's time (gamma
// of equation 6 of Bernabe 2014), and take longer beside its work. A batch takes as long as its slowest
// resource: transfers, copies through pinned buffers, products, or the host's shared memory.
#include "gemm/hybrid/split/prediction.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tilewright {
namespace {

enum TimelineLane { lane_fill = lane_count, lane_empty, lanes_of_gpu };

constexpr double most_chunks = 64;  // of an operand, by which staged copies are timed
// Until sleeping threads copy a chunk: products of n = 512 and 1024 take about this much more per chunk.
constexpr double copiers_wake_s = 35e-6;

// Puts the steps of one share on the timeline.
class TimedShare {
 public:
  TimedShare(const NodeModel& node, const SplitRequest& request, const StreamShape& shape, const Split& split,
             int index, const StreamSchedule& schedule, Timeline& timeline)
      : gpu_(node.gpus[std::size_t(split.gpus[std::size_t(index)].gpu)]),
        request_(request),
        shape_(shape),
        host_copy_(node.host.copy_by(split.copy_threads)),
        first_lane_(index * lanes_of_gpu),
        index_(index),
        timeline_(timeline),
        schedule_(schedule),
        chunk_bytes_(std::max(double(split.ring_bytes) / 4, 1e6)),
        last_operation_(schedule_.steps.size(), -1),
        unit_operation_(std::size_t(schedule_.units), -1) {}

  void add() {
    const double pace = sustained_pace();
    for (std::size_t i = 0; i < schedule_.steps.size(); ++i) {
      const StreamStep& step = schedule_.steps[i];
      if (step.kind == StepKind::multiply) {
        StepCost cost = product_cost(gpu_, shape_.part(step.piece));
        cost.seconds *= pace;
        result.compute_s += cost.seconds;
        add_operation(i, step.lane, Traffic::none, cost, -1);
      } else if (step.kind == StepKind::add_c) {
        const StoredBlock c = shape_.stored(ProductMatrix::c, step.piece);
        add_operation(i, step.lane, Traffic::none, add_cost(gpu_, shape_.problem().dtype, c.rows * c.columns),
                      -1);
      } else {
        add_copy(i);
      }
      last_operation_[i] = last_;
      if (step.unit >= 0 && step.owner == index_) unit_operation_[std::size_t(step.unit)] = last_;
    }
    for (const double busy : lane_s_) result.transfer_s = std::max(result.transfer_s, busy);
  }

  // Once all shares are on the timeline.
  void connect(const std::vector<TimedShare>& shares) {
    for (std::size_t i = 0; i < schedule_.steps.size(); ++i) {
      const StreamStep& step = schedule_.steps[i];
      if (step.is_from_peer(index_))
        timeline_.hold_back(last_operation_[i],
                            shares[std::size_t(step.owner)].unit_operation_[std::size_t(step.unit)]);
    }
  }

  double seconds() const {
    double end = last_emptied_ < 0 ? 0 : timeline_.end_of(last_emptied_);
    for (const int operation : last_operation_) end = std::max(end, timeline_.end_of(operation));
    return end;
  }

  SplitPrediction result;

 private:
  // The factor by which so many products in a row slow one another.
  double sustained_pace() const {
    double seconds = 0, products = 0;
    for (const StreamStep& step : schedule_.steps) {
      if (step.kind != StepKind::multiply) continue;
      const GemmProblem part = shape_.part(step.piece);
      seconds += product_cost(gpu_, part).seconds;
      products += double(part.m) * double(part.n) * double(part.k);
    }
    if (seconds <= 0) return 1;
    return gpu_.sustained[std::size_t(shape_.problem().dtype)].of(seconds, products) / seconds;
  }

  void add_operation(std::size_t step, Lane lane, Traffic traffic, const StepCost& cost, int before) {
    TimedOperation operation{.lane = first_lane_ + int(lane),
                             .traffic = traffic,
                             .start_s = cost.start_s,
                             .seconds = cost.seconds};
    for (std::size_t i = 0; i < lane_count; ++i)
      if (const int needed = schedule_.steps[step].after[i]; needed >= 0)
        operation.after[i] = last_operation_[std::size_t(needed)];
    operation.after[3] = before;
    last_ = timeline_.add(operation);
  }

  int add_host_copy(int lane, double bytes, int before) {
    return timeline_.add({.lane = first_lane_ + lane,
                          .traffic = Traffic::host_copy,
                          .start_s = copiers_wake_s,
                          .seconds = bytes * host_copy_.s_per_byte,
                          .after = {before, -1, -1, -1}});
  }

  void add_copy(std::size_t index) {
    const StreamStep& step = schedule_.steps[index];
    const bool out = step.kind == StepKind::copy_out;
    const StoredBlock stored = shape_.stored(step.matrix, step.piece);
    const BlockShape block{stored.rows, stored.columns, int(shape_.element_bytes())};
    const double bytes = double(block.bytes());
    if (step.is_from_peer(index_))
      return add_operation(index, step.lane, Traffic::none, peer_copy_cost(gpu_, bytes), -1);
    const Traffic traffic = out ? Traffic::to_host : Traffic::to_device;
    result.copied_bytes += bytes;
    lane_s_[out] += bytes * (out ? gpu_.to_host : gpu_.to_device).s_per_byte;
    const OperandLayout& operand = shape_.layout(step.matrix);
    if (request_.pinned[std::size_t(step.matrix)]) {
      const bool gaps = operand.ld != block.rows || schedule_.buffer(step, step.matrix).ld != block.rows;
      return add_operation(index, step.lane, traffic, copy_cost(gpu_, step.lane, block, gaps), -1);
    }
    // Through the ring, chunk by chunk. Its buffers have no gaps.
    const double operand_bytes = double(operand.rows) * double(operand.cols) * double(shape_.element_bytes());
    const double chunks =
        std::clamp(std::ceil(bytes / std::max(chunk_bytes_, operand_bytes / most_chunks)), 1.0, 64.0);
    StepCost cost = copy_cost(gpu_, step.lane, block, false);
    cost.seconds /= chunks;
    for (int i = 0; i < int(chunks); ++i) {
      const int filled = out ? -1 : add_host_copy(lane_fill, bytes / chunks, -1);
      add_operation(index, step.lane, traffic, cost, filled);
      if (out) last_emptied_ = add_host_copy(lane_empty, bytes / chunks, last_);
    }
  }

  const GpuModel& gpu_;
  const SplitRequest& request_;
  const StreamShape& shape_;
  TransferTime host_copy_;
  int first_lane_, index_;
  Timeline& timeline_;
  const StreamSchedule& schedule_;
  double chunk_bytes_;
  std::vector<int> last_operation_, unit_operation_;
  int last_ = -1, last_emptied_ = -1;
  std::array<double, 2> lane_s_{};
};

}  // namespace

StepCost copy_cost(const GpuModel& gpu, Lane lane, const BlockShape& shape, bool gaps) {
  const TransferTime& time = lane == Lane::in ? gpu.to_device : gpu.to_host;
  return {time.start_s,
          double(shape.bytes()) * time.s_per_byte + (gaps ? double(shape.columns) * gpu.row_s : 0)};
}

StepCost peer_copy_cost(const GpuModel& gpu, double bytes) {
  return {gpu.from_peer.start_s, bytes * gpu.from_peer.s_per_byte};
}

StepCost product_cost(const GpuModel& gpu, const GemmProblem& p) {
  const GemmTime& time = gpu.gemm[std::size_t(p.dtype)];
  return {time.start_s, time.of(double(p.m), double(p.n), double(p.k)) - time.start_s};
}

StepCost add_cost(const GpuModel& gpu, DType dtype, std::int64_t elements) {
  const double bytes = 3.0 * double(elements) * double(size_bytes(dtype));  // two read, one written
  return {gpu.gemm[std::size_t(dtype)].start_s, bytes / gpu.memory_bytes_per_s};
}

namespace {

// The shares, by number, whose GPUs copy blocks of the resident operand from one another; empty: none.
std::vector<int> peers_of(const NodeModel& node, const StreamShape& shape, const Split& split) {
  std::vector<int> peers;
  if (split.gpus.size() < 2 || !have_same_slices(shape, split)) return peers;
  for (std::size_t i = 0; i < split.gpus.size(); ++i) {
    if (node.gpus[std::size_t(split.gpus[i].gpu)].from_peer.s_per_byte <= 0) return {};
    peers.push_back(int(i));
  }
  return peers;
}

// The CPU's part by itself, with `threads` of the model's.
double host_seconds(const NodeModel& node, const GemmProblem& part, int threads) {
  const GemmTime& time = node.host.gemm[std::size_t(part.dtype)];
  const double alone = time.of(double(part.m), double(part.n), double(part.k));
  if (alone <= 0) return 0;
  return time.start_s + (alone - time.start_s) * double(node.host.threads) / std::max(1, threads);
}

// CPU and GPUs at work together begin so much later than either alone: products of n = 256 to 4096 and small
// k (results/h100/hybrid-20261126-choice.jsonl.gz).
constexpr double both_begin_s = 300e-6;

// A staged byte passes the host's memory so many times: read and written, and read by the copy engine.
constexpr double copier_passes = 2, staged_passes = 3;

// Factors on the time of the CPU's part beside a pipeline, and at least on that of the copies then: operands
// that come from memory each time meet there (results/h100/hybrid-20261126-panels.jsonl.gz).
constexpr double beside_gpus = 1.4;
constexpr double least_beside_host = 1.25;

// Factor on the time of transfers while threads copy to and from rings all the time
// (results/h100/hybrid-20261126-pageable.jsonl.gz).
constexpr double beside_copiers = 1.4;

// The seconds that a GPU's pipeline loses to work of the host that takes `host_s` and makes transfers
// `slower` times as long: in the proportion to which transfers decide its time.
double lost_to_host(const SplitPrediction& prediction, double duplex, double slower, double host_s) {
  const double critical = std::min(1.0, prediction.transfer_s * duplex / prediction.gpu_s);
  return critical * std::min(host_s, prediction.gpu_s * slower) * (1 - 1 / slower);
}

// Queueing a piece: a thread's time and a launch.
constexpr double piece_s = 25e-6;

// The most that a thread of the CPU reads and writes, and the cost of a problem beside its work.
constexpr double thread_bytes_per_s = 12e9, problem_s = 5e-9;
// Small problems run this much slower than large ones: a part of each vector and each load is not used.
double small_factor(const GemmProblem& p) { return 1 + 12.0 / double(std::min({p.m, p.n, p.k})); }
// On the CPU batches are slower again than one large product with operands in its caches, and read memory
// slower than copies do (results/h100/hybrid-20261127-batches.jsonl.gz: n = 8 to 64).
constexpr double host_factor = 1.6, host_memory_share = 0.8;

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
    const double moved = host_bytes(on_host) + all.copied_bytes + copier_passes * staged;
    all.seconds = std::max(all.seconds, moved / (host_memory_share * node_.host.memory_bytes_per_s));
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
  // The bytes that the CPU moves: lines that it only writes are read as well.
  double host_bytes(double problems) const {
    return bytes_in(problems) + bytes_out(problems) * (shape_.reads_c() ? 1 : 2);
  }
  double compute_s(const GpuModel& gpu, double problems) const {
    const GemmProblem& p = shape_.problem();
    const GemmTime& time = gpu.gemm[std::size_t(p.dtype)];
    const double flops_s =
        time.s_per_product * double(p.m) * double(p.n) * double(p.k) * small_factor(p) * problems;
    const double moved = bytes_in(problems) + bytes_out(problems);
    return std::max(flops_s, moved / gpu.memory_bytes_per_s);
  }

  double host_s(double problems, int threads) const {
    const GemmProblem& p = shape_.problem();
    const GemmTime& time = node_.host.gemm[std::size_t(p.dtype)];
    const double scale = double(node_.host.threads) / threads;
    const double flops_s = time.s_per_product * double(p.m) * double(p.n) * double(p.k) * small_factor(p) *
                           host_factor * problems * scale;
    const double rate =
        std::min(thread_bytes_per_s * threads, host_memory_share * node_.host.memory_bytes_per_s);
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
      // Nothing overlaps the arrival of the first piece and the departure of the last.
      const double ends = (in + out + computing) / pieces + gpu.to_device.start_s + gpu.to_host.start_s;
      all.transfer_s = std::max(all.transfer_s, std::max(in, out));
      all.compute_s = std::max(all.compute_s, computing);
      all.gpu_s = std::max(all.gpu_s, std::max({moving, computing, piece_s * pieces}) + ends);
      all.copied_bytes += bytes_in(double(share.count)) + bytes_out(double(share.count));
      staged += staged_bytes(shape_, request_, double(share.count));
    }
    const double copying = staged * node_.host.copy_by(split.copy_threads).s_per_byte;
    all.gpu_s = std::max(all.gpu_s, copying) + node_.host.stream_start_s;
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

SplitPrediction predict(const NodeModel& node, const SplitRequest& request, const Split& split) {
  const StreamShape shape(request.problem, split.side);
  if (shape.is_batch()) return BatchTime(node, request).of(split);
  SplitPrediction all;
  if (!split.gpus.empty()) {
    const std::vector<StreamSchedule> schedules = make_schedules(shape, split, peers_of(node, shape, split));
    std::vector<double> duplex;
    for (const GpuShare& share : split.gpus) duplex.push_back(node.gpus[std::size_t(share.gpu)].duplex);
    Timeline timeline(int(split.gpus.size()), lanes_of_gpu, duplex, node.together);
    std::vector<TimedShare> shares;
    shares.reserve(split.gpus.size());
    for (int i = 0; i < int(split.gpus.size()); ++i) {
      shares.emplace_back(node, request, shape, split, i, schedules[std::size_t(i)], timeline);
      shares.back().add();
    }
    for (TimedShare& share : shares) share.connect(shares);
    timeline.run();
    for (const TimedShare& share : shares) {
      all.gpu_s = std::max(all.gpu_s, share.seconds());
      all.transfer_s = std::max(all.transfer_s, share.result.transfer_s);
      all.compute_s = std::max(all.compute_s, share.result.compute_s);
      all.copied_bytes += share.result.copied_bytes;
    }
    all.gpu_s += node.host.stream_start_s;
  }
  const bool staged = request.pinned != all_matrices;
  all.gpu_s =
      std::max(all.gpu_s, all.copied_bytes * (staged ? staged_passes : 1) / node.host.memory_bytes_per_s);
  const double duplex = split.gpus.empty() ? 1 : node.gpus[std::size_t(split.gpus[0].gpu)].duplex;
  const double slowed = duplex * node.together.slower(split.gpus.size(), duplex);
  if (staged && !split.gpus.empty())
    all.gpu_s += lost_to_host(all, slowed, beside_copiers, std::numeric_limits<double>::infinity());
  all.seconds = all.gpu_s;
  if (split.host_count <= 0) return all;
  const GemmProblem part = shape.part(shape.whole({split.host_first, split.host_count}));
  const int copiers = staged && !split.gpus.empty() ? split.copy_threads : 0;
  double alone = host_seconds(node, part, std::max(1, node.host.threads - copiers - int(split.gpus.size())));
  if (split.gpus.empty()) {
    all.seconds = all.host_s = alone;
    return all;
  }
  alone *= beside_gpus;
  // Equation 6: the CPU loses a part of its time to transfers, for as long as there are any.
  const double gamma = std::clamp(node.host.gamma, 0.0, 1.0);
  const double lost_all = gamma < 1 ? alone / (1 - gamma) : alone + gamma * all.gpu_s;
  all.host_s = std::min(lost_all, alone + gamma * all.gpu_s);
  if (!staged)
    all.gpu_s += lost_to_host(all, slowed, std::max(least_beside_host, node.host.copies_beside), all.host_s);
  // Together they may need more bytes per second than the memory gives.
  const double wanted = all.copied_bytes / all.gpu_s + bytes(part) / all.host_s;
  const double longer = wanted / node.host.memory_bytes_per_s - 1;
  if (longer > 0) {
    const double both = std::min(all.gpu_s, all.host_s);
    all.gpu_s += both * longer;
    all.host_s += both * longer;
  }
  all.seconds = std::max(all.gpu_s, all.host_s) + both_begin_s;
  return all;
}

}  // namespace tilewright
