// Times the stages of a transfer by the host's clock, because the host allocates and a stage ends when the
// device has all of its data.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <optional>

#include "bench/gpu_parts.hpp"
#include "device/gpu/copies.hpp"
#include "measure/clock.hpp"

namespace tilewright::bench {
namespace {

constexpr double most_case_s = 8;          // for all repetitions of a case
constexpr std::int64_t probe_count = 256;  // problems from which the time of more is estimated
constexpr std::int64_t probe_growth = 8;

enum class Work { allocate, to_device, to_host, release };
struct Step {
  const char* name;
  Work work;
  std::size_t operand = 0;  // for stages that move data

  double bytes(const TransferBatch& batch) const {
    const bool moves = work == Work::to_device || work == Work::to_host;
    return moves ? double(batch.bytes[operand] * batch.count) : 0;
  }
};
constexpr Step stages[] = {{"allocate", Work::allocate},        {"to_device_a", Work::to_device, 0},
                           {"to_device_b", Work::to_device, 1}, {"to_device_c", Work::to_device, 2},
                           {"to_host_c", Work::to_host, 2},     {"release", Work::release}};
using Seconds = std::array<double, std::size(stages)>;

// One operand of the batch on the host, its pages touched, in memory of either kind.
class HostOperand {
 public:
  HostOperand(const Gpu& gpu, std::size_t bytes, bool pinned) : bytes_(bytes) {
    if (pinned)
      pinned_.emplace(gpu, bytes);
    else
      pageable_ = std::make_unique<unsigned char[]>(bytes);
    fill();
  }
  unsigned char* data() const {
    return pinned_ ? static_cast<unsigned char*>(pinned_->data()) : pageable_.get();
  }
  void clear() { std::memset(data(), 0, bytes_); }
  // Writes a pattern whose period is not a power of two, so that the check finds matrices in wrong places,
  // and a new pattern each time, so that it finds stale data in the device's memory.
  void fill() {
    ++shift_;
    for (std::size_t i = 0; i < bytes_; ++i) data()[i] = value(i);
  }
  bool is_intact() const {
    for (std::size_t i = 0; i < bytes_; ++i)
      if (data()[i] != value(i)) return false;
    return true;
  }

 private:
  unsigned char value(std::size_t i) const { return static_cast<unsigned char>((i + shift_) % 251 + 1); }
  std::size_t shift_ = 0;
  std::size_t bytes_;
  std::optional<PinnedBuffer> pinned_;
  std::unique_ptr<unsigned char[]> pageable_;
};

// A batch on the host and the two methods of moving it to the device: in `count` pieces per operand, or in
// one.
class Movement {
 public:
  Movement(const Gpu& gpu, const TransferBatch& batch, bool pinned) : gpu_(gpu), stream_(gpu), batch_(batch) {
    for (const std::int64_t bytes : batch.bytes)
      host_.emplace_back(gpu, std::size_t(bytes * batch.count), pinned);
  }

  Seconds run(bool per_matrix) const {
    Device device;
    Seconds seconds{};
    double begin = wall_seconds();
    for (std::size_t i = 0; i < seconds.size(); ++i) {
      run(stages[i], device, per_matrix);
      const double end = wall_seconds();
      seconds[i] = end - begin;
      begin = end;
    }
    return seconds;
  }

  // True if C comes back unchanged.
  bool is_right(bool per_matrix) {
    host_[2].fill();
    Device device;
    for (const Step& stage : stages) {
      if (stage.work == Work::to_host) host_[stage.operand].clear();
      run(stage, device, per_matrix);
    }
    return host_[2].is_intact();
  }

 private:
  using Device = std::array<std::vector<GpuBuffer>, 3>;

  void run(const Step& stage, Device& device, bool per_matrix) const {
    switch (stage.work) {
      case Work::allocate:
        for (std::size_t operand = 0; operand < device.size(); ++operand)
          allocate(device[operand], batch_.bytes[operand], per_matrix);
        return;
      case Work::to_device:
      case Work::to_host:
        return move(device[stage.operand], host_[stage.operand].data(), stage.work == Work::to_host);
      case Work::release:
        for (auto& operand : device) operand.clear();
    }
  }
  void allocate(std::vector<GpuBuffer>& operand, std::int64_t bytes, bool per_matrix) const {
    const std::int64_t pieces = per_matrix ? batch_.count : 1;
    operand.reserve(std::size_t(pieces));
    for (std::int64_t i = 0; i < pieces; ++i)
      operand.emplace_back(gpu_, std::size_t(bytes * batch_.count / pieces));
  }
  // Queues all copies before it waits for any.
  void move(const std::vector<GpuBuffer>& operand, unsigned char* host, bool to_host) const {
    for (const GpuBuffer& piece : operand) {
      if (to_host)
        queue_to_host(gpu_, host, piece.as<void>(), piece.bytes(), stream_.get());
      else
        queue_to_device(gpu_, piece.as<void>(), host, piece.bytes(), stream_.get());
      host += piece.bytes();
    }
    stream_.synchronize();
  }

  const Gpu& gpu_;
  GpuStream stream_;
  TransferBatch batch_;
  std::vector<HostOperand> host_;
};

struct MoveMethod {
  const char* impl;
  bool per_matrix;
};
constexpr MoveMethod move_methods[] = {{"one_block_per_matrix", true}, {"one_block", false}};

double sum(const Seconds& seconds) {
  double all = 0;
  for (const double one : seconds) all += one;
  return all;
}

// Runs each method in each memory once.
double once_s(const Gpu& gpu, const Plan& plan, const TransferBatch& batch) {
  double seconds = 0;
  for (const std::string& memory : plan.memories) {
    const Movement transfer(gpu, batch, memory == "pinned");
    for (const MoveMethod& method : move_methods) {
      transfer.run(method.per_matrix);  // the batch should not pay for the driver's own first allocations
      seconds += sum(transfer.run(method.per_matrix));
    }
  }
  return seconds;
}

// Returns a batch for which all repetitions are expected to finish in time. Tries small batches first and
// larger ones until they take a part of that time: the cost of one allocation depends on how many there are.
TransferBatch affordable(const Gpu& gpu, const Plan& plan, const TransferBatch& batch) {
  TransferBatch probe = batch;
  for (std::int64_t count = probe_count;; count *= probe_growth) {
    probe.count = std::min(batch.count, count);
    const double case_s = plan.repetitions * once_s(gpu, plan, probe);
    if (probe.count == batch.count && case_s <= most_case_s) return batch;
    if (probe.count < batch.count && case_s < most_case_s / probe_growth) continue;
    const auto fits = std::int64_t(most_case_s / case_s * double(probe.count));
    probe.count = std::clamp(fits, std::min(probe_count, batch.count), batch.count);
    return probe;
  }
}

TransferMethod summary(const MoveMethod& method, const std::string& memory, const TransferBatch& batch,
                       const std::vector<Seconds>& samples) {
  TransferMethod result{method.impl, memory, {}, {}};
  std::vector<double> totals;
  for (const Seconds& one : samples) totals.push_back(sum(one));
  result.seconds = estimate(totals);
  for (std::size_t i = 0; i < std::size(stages); ++i) {
    std::vector<double> seconds;
    for (const Seconds& one : samples) seconds.push_back(one[i]);
    result.stages.push_back({stages[i].name, stages[i].bytes(batch), estimate(seconds)});
  }
  return result;
}

}  // namespace

void check_gpu_transfer(const Plan& plan) { (void)Gpu::limits_of(plan.device); }

TransferResult measure_gpu_transfer(const Plan& plan, const TransferBatch& batch) {
  const Gpu gpu(plan.device);
  const Gpu::Current current(gpu);
  TransferResult result;
  result.batch = affordable(gpu, plan, batch);
  const GpuLimits& limits = gpu.limits();
  result.provenance = {
      {"device", limits.name}, {"device_uuid", limits.uuid}, {"driver", limits.driver_version}};
  for (const std::string& memory : plan.memories) {
    Movement transfer(gpu, result.batch, memory == "pinned");
    std::vector<Seconds> samples[std::size(move_methods)];
    for (const MoveMethod& method : move_methods)
      if (!transfer.is_right(method.per_matrix))
        throw Error(ErrorCode::internal, "memory",
                    fmt::format("{} from {} memory: C of {} problems was changed", method.impl, memory,
                                result.batch.count));
    for (int r = 0; r < plan.repetitions; ++r)
      for (std::size_t i = 0; i < std::size(move_methods); ++i)
        samples[i].push_back(transfer.run(move_methods[i].per_matrix));
    for (std::size_t i = 0; i < std::size(move_methods); ++i)
      result.ways.push_back(summary(move_methods[i], memory, result.batch, samples[i]));
  }
  return result;
}

}  // namespace tilewright::bench
