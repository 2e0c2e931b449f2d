// Operations become entries of a timeline with an effect each; effects happen in the order in which the
// operations end on the timeline.
#include "simulated/simulated_device.hpp"

#include <algorithm>
#include <cstring>

#include "core/dispatch.hpp"
#include "gemm/hybrid/split/prediction.hpp"

namespace tilewright {
namespace {

using NodeLock = std::lock_guard<std::recursive_mutex>;

void copy_columns(const Block& to, const Block& from, const BlockShape& shape, std::int64_t columns) {
  for (std::int64_t j = 0; j < columns; ++j)
    std::memcpy(static_cast<char*>(to.data) + j * to.pitch_bytes,
                static_cast<const char*>(from.data) + j * from.pitch_bytes,
                std::size_t(shape.rows * shape.element_bytes));
}

// Filled with NaN, so that reads of unwritten data show.
class HostBytes : public PinnedMemory {
 public:
  explicit HostBytes(std::int64_t bytes) : bytes_(std::size_t(bytes + alignment), char(0xff)) {}
  void* data() const override {
    const auto at = reinterpret_cast<std::uintptr_t>(bytes_.data());
    return reinterpret_cast<void*>((at + alignment - 1) / alignment * alignment);
  }

 private:
  static constexpr std::int64_t alignment = 256;  // of a device's allocations
  std::vector<char> bytes_;
};

}  // namespace

class SimulatedMemory : public DeviceMemory {
 public:
  SimulatedMemory(SimulatedDevice& device, std::int64_t bytes, bool dry)
      : device_(device), bytes_(bytes), data_(dry ? 0 : bytes) {
    device_.used_bytes_ += bytes_;
    device_.most_bytes_ = std::max(device_.most_bytes_, device_.used_bytes_);
  }
  ~SimulatedMemory() override {
    const NodeLock lock(device_.node_.mutex());
    device_.used_bytes_ -= bytes_;
  }
  void* data() const override { return data_.data(); }

 private:
  SimulatedDevice& device_;
  std::int64_t bytes_;
  HostBytes data_;
};

SimulatedNode::SimulatedNode(NodeModel model, Product product)
    : model_(std::move(model)), product_(std::move(product)) {}
SimulatedNode::~SimulatedNode() = default;

SimulatedDevice& SimulatedNode::device(int gpu, const SimulatedFaults& faults) {
  const NodeLock lock(mutex_);
  devices_.push_back(std::make_unique<SimulatedDevice>(*this, gpu, faults));
  return *devices_.back();
}

void SimulatedNode::pin(const void* address, std::int64_t bytes) {
  const NodeLock lock(mutex_);
  pinned_.emplace_back(static_cast<const char*>(address), bytes);
}

bool SimulatedNode::is_pinned(const void* address, std::int64_t bytes) const {
  const NodeLock lock(mutex_);
  const char* first = static_cast<const char*>(address);
  return std::any_of(pinned_.begin(), pinned_.end(), [&](const auto& range) {
    return first >= range.first && first + bytes <= range.first + range.second;
  });
}

SimulatedDevice::SimulatedDevice(SimulatedNode& node, int gpu, const SimulatedFaults& faults)
    : node_(node),
      model_(node.model().gpus.at(std::size_t(gpu))),
      faults_(faults),
      timeline_(1, lane_count,
                {model_.duplex * node.model().together.slower(node.model().gpus.size(), model_.duplex)}, {}) {
}

std::string SimulatedDevice::name() const { return model_.name; }

std::int64_t SimulatedDevice::free_bytes() const {
  const NodeLock lock(node_.mutex());
  return model_.memory_bytes - used_bytes_;
}

bool SimulatedDevice::reaches(const StreamDevice& other) const {
  const auto* peer = dynamic_cast<const SimulatedDevice*>(&other);
  return peer != nullptr && &peer->node_ == &node_ && model_.from_peer.s_per_byte > 0;
}

std::unique_ptr<DeviceMemory> SimulatedDevice::allocate(std::int64_t bytes) {
  const NodeLock lock(node_.mutex());
  check();
  if (++allocations_ == faults_.failing_allocation || bytes > model_.memory_bytes - used_bytes_)
    throw Error(ErrorCode::out_of_memory, "gpu",
                fmt::format("{} has fewer than {} bytes left of {}", name(), bytes, model_.memory_bytes));
  return std::make_unique<SimulatedMemory>(*this, bytes, !node_.product());
}

std::unique_ptr<PinnedMemory> SimulatedDevice::allocate_pinned(std::int64_t bytes) {
  const NodeLock lock(node_.mutex());
  check();
  auto memory = std::make_unique<HostBytes>(bytes);
  node_.pin(memory->data(), bytes);
  return memory;
}

bool SimulatedDevice::is_pinned(const void* address, std::int64_t bytes) const {
  return node_.is_pinned(address, bytes);
}

void SimulatedDevice::check() {
  if (lost_) throw Error(ErrorCode::device_lost, "gpu", fmt::format("{} is lost", name()));
}

void SimulatedDevice::queue(Lane lane, Traffic traffic, double start_s, double seconds,
                            std::function<bool()> effect, double not_before) {
  std::vector<int>& held = held_[std::size_t(lane)];
  const auto enter = [&](double takes_s, std::function<bool()> does) {
    TimedOperation operation;
    operation.lane = int(lane);
    operation.traffic = traffic;
    operation.start_s = takes_s > 0 ? start_s * faults_.slower : 0;
    operation.seconds = takes_s * faults_.slower;
    operation.not_before = not_before;
    for (std::size_t i = 0; i < operation.after.size() && !held.empty(); ++i) {
      operation.after[i] = held.back();
      held.pop_back();
    }
    last_[std::size_t(lane)] = timeline_.add(operation);
    effects_.push_back(std::move(does));
  };
  while (held.size() > 4) enter(0, [] { return true; });
  enter(seconds, std::move(effect));
}

void SimulatedDevice::copy(Lane lane, const Block& to, const Block& from, const BlockShape& shape) {
  const NodeLock lock(node_.mutex());
  check();
  const std::int64_t packed_bytes = shape.rows * shape.element_bytes;
  const bool gaps = to.pitch_bytes != packed_bytes || from.pitch_bytes != packed_bytes;
  const StepCost cost = copy_cost(model_, lane, shape, gaps);
  const bool fails = ++copies_ == faults_.failing_copy;
  if (lane == Lane::in) bytes_in_ += shape.bytes();
  const auto effect = [this, to, from, shape, fails] {
    if (node_.product()) copy_columns(to, from, shape, fails ? shape.columns / 2 : shape.columns);
    return !fails;
  };
  queue(lane, lane == Lane::in ? Traffic::to_device : Traffic::to_host, cost.start_s, cost.seconds, effect);
}

void SimulatedDevice::copy_in(const Block& to_device, const Block& from_host, const BlockShape& shape) {
  copy(Lane::in, to_device, from_host, shape);
}
void SimulatedDevice::copy_out(const Block& to_host, const Block& from_device, const BlockShape& shape) {
  copy(Lane::out, to_host, from_device, shape);
}

void SimulatedDevice::copy_from_peer(Lane lane, const Block& to, StreamDevice& other, const Block& from,
                                     const BlockShape& shape, Mark mark) {
  const NodeLock lock(node_.mutex());
  check();
  if (!reaches(other))
    throw Error(ErrorCode::internal, "gpu", fmt::format("{} does not reach {}", name(), other.name()));
  auto& peer = dynamic_cast<SimulatedDevice&>(other);
  const int operation = peer.operation_of(mark);
  double not_before = 0;
  if (operation >= 0) {
    // Work that the peer will queue later must not begin later because of this query.
    Timeline ahead = peer.timeline_;
    ahead.run(operation);
    not_before = ahead.end_of(operation);
  }
  const StepCost cost = peer_copy_cost(model_, double(shape.bytes()));
  const auto effect = [this, to, from, shape, &peer, operation] {
    if (operation >= 0) peer.run(operation);
    if (peer.lost_) return false;
    if (node_.product()) copy_columns(to, from, shape, shape.columns);
    return true;
  };
  queue(lane, Traffic::none, cost.start_s, cost.seconds, effect, not_before);
}

void SimulatedDevice::multiply(const GemmProblem& problem, const Operands& operands) {
  const NodeLock lock(node_.mutex());
  check();
  const StepCost cost = product_cost(model_, problem);
  queue(Lane::compute, Traffic::none, cost.start_s, cost.seconds, [this, problem, operands] {
    if (node_.product()) node_.product()(problem, operands);
    return true;
  });
}

void SimulatedDevice::add(DType dtype, const Block& to, const Block& from, const BlockShape& shape,
                          const void* beta) {
  const NodeLock lock(node_.mutex());
  check();
  const StepCost cost = add_cost(model_, dtype, shape.rows * shape.columns);
  queue(Lane::compute, Traffic::none, cost.start_s, cost.seconds, [this, dtype, to, from, shape, beta] {
    if (!node_.product()) return true;
    dispatch(dtype, [&]<class T>() {
      const T factor = *static_cast<const T*>(beta);
      for (std::int64_t j = 0; j < shape.columns; ++j) {
        T* y = reinterpret_cast<T*>(static_cast<char*>(to.data) + j * to.pitch_bytes);
        const T* x = reinterpret_cast<const T*>(static_cast<const char*>(from.data) + j * from.pitch_bytes);
        for (std::int64_t i = 0; i < shape.rows; ++i) y[i] += factor * x[i];
      }
    });
    return true;
  });
}

SimulatedDevice::Mark SimulatedDevice::mark(Lane lane) {
  const NodeLock lock(node_.mutex());
  check();
  marks_.push_back(last_[std::size_t(lane)]);
  return Mark(marks_.size());
}

void SimulatedDevice::hold_back(Lane lane, Mark mark) {
  const NodeLock lock(node_.mutex());
  check();
  if (const int operation = operation_of(mark); operation >= 0) held_[std::size_t(lane)].push_back(operation);
}

void SimulatedDevice::run(int operation) {
  timeline_.run(operation);
  // A copy from a peer may ask this device, through the peer, for the effects so far.
  if (in_effect_) return;
  in_effect_ = true;
  while (happened_ < timeline_.ended().size()) {
    const int next = timeline_.ended()[happened_++];
    if (lost_) continue;
    if (faults_.lost_after > 0 && next >= faults_.lost_after)
      lost_ = true;
    else
      lost_ = !effects_[std::size_t(next)]();
  }
  in_effect_ = false;
}

void SimulatedDevice::wait(Mark mark) {
  const NodeLock lock(node_.mutex());
  check();
  if (const int operation = operation_of(mark); operation >= 0) run(operation);
  check();
}

bool SimulatedDevice::has_passed(Mark mark) {
  const NodeLock lock(node_.mutex());
  check();
  return timeline_.has_ended(operation_of(mark));
}

void SimulatedDevice::wait_all() {
  const NodeLock lock(node_.mutex());
  check();
  run(-1);
  check();
}

}  // namespace tilewright
