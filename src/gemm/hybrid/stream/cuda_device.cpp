// Lanes are streams, marks are events. The driver's layer tells a device that is lost from a call that fails;
// cuBLAS does not, so after its errors the driver is asked.
#include "gemm/hybrid/stream/cuda_device.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <exception>
#include <map>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "core/local_rank.hpp"
#include "device/gpu/blas.hpp"
#include "device/gpu/copies.hpp"
#include "device/gpu/gpu.hpp"
#include "gemm/hybrid/stream/memory_pool.hpp"

namespace tilewright {
namespace {

// Of pinned memory, what the products of a node's processes may keep, each its part.
constexpr std::int64_t most_pinned_bytes = std::int64_t(1) << 30;
// Of the device's memory, what products may keep for the next.
constexpr std::int64_t kept_part = 8;

void* device_address(const GpuBuffer& buffer) { return buffer.as<void>(); }
void* host_address(const PinnedBuffer& buffer) { return buffer.data(); }
using PooledDevice = PooledMemory<DeviceMemory, GpuBuffer, device_address>;
using PooledPinned = PooledMemory<PinnedMemory, PinnedBuffer, host_address>;

// The pools of one GPU's memory in this process, whose contexts share it.
constexpr int of_the_host = -1;  // pinned memory
std::shared_ptr<MemoryPools> pools_of(int ordinal) {
  struct All {
    Mutex mutex;
    std::map<int, std::shared_ptr<MemoryPools>> pools;
  };
  static constinit Once<All> once;
  All& all = once.get([] { return All(); });
  const std::lock_guard lock(all.mutex);
  std::shared_ptr<MemoryPools>& pools = all.pools[ordinal];
  if (pools == nullptr) pools = std::make_shared<MemoryPools>();
  return pools;
}

// How many ranks of this node have the same GPUs, where each takes its part of them.
int sharers() {
  std::string none;
  return part_of_gpus(local_rank(), Gpu::count(none)).sharers;
}

class CudaDevice : public StreamDevice {
 public:
  CudaDevice(int ordinal, std::function<void(const GemmProblem&, const Operands&)> multiply)
      : gpu_(std::make_shared<const Gpu>(ordinal)), multiply_(std::move(multiply)) {
    for (int lane = 0; lane < lane_count; ++lane) streams_.emplace_back(*gpu_);
    const auto gpu = gpu_;
    device_pool_ = MemoryPool<GpuBuffer>::create(
        pools_of(ordinal),
        [gpu](std::int64_t bytes) { return std::make_unique<GpuBuffer>(*gpu, std::size_t(bytes)); },
        gpu->limits().memory_bytes / (kept_part * sharers()));
    pinned_pool_ = MemoryPool<PinnedBuffer>::create(
        pools_of(of_the_host),
        [gpu](std::int64_t bytes) { return std::make_unique<PinnedBuffer>(*gpu, std::size_t(bytes)); },
        most_pinned_bytes / local_rank().count);
  }
  ~CudaDevice() override {
    try {
      const Gpu::Current current(*gpu_);
      for (const GpuStream& stream : streams_) stream.synchronize();
      blas_.reset();
    } catch (...) {
      // It is lost, and does nothing any more; or there is no memory to say so.
    }
  }

  std::string name() const override { return fmt::format("{} ({})", gpu_->limits().name, gpu_->device()); }
  std::int64_t free_bytes() const override { return free_memory(*gpu_) + device_pool_->all_kept_bytes(); }
  bool reaches(const StreamDevice& other) const override {
    const auto* peer = dynamic_cast<const CudaDevice*>(&other);
    if (peer == nullptr) return false;
    const std::lock_guard lock(mutex_);
    const auto [it, is_new] = reached_.try_emplace(peer->gpu_->device(), false);
    if (is_new) it->second = reach_peer(*gpu_, *peer->gpu_);
    return it->second;
  }

  std::unique_ptr<DeviceMemory> allocate(std::int64_t bytes) override {
    return guard("allocating", [&] { return std::make_unique<PooledDevice>(device_pool_, bytes); });
  }
  std::unique_ptr<PinnedMemory> allocate_pinned(std::int64_t bytes) override {
    return guard("pinning", [&] { return std::make_unique<PooledPinned>(pinned_pool_, bytes); });
  }
  bool is_pinned(const void* address, std::int64_t bytes) const override {
    return is_pinned_memory(*gpu_, address, bytes);
  }

  void copy_in(const Block& to_device, const Block& from_host, const BlockShape& shape) override {
    guard("copying to it", [&] {
      const CopiedBlock block = block_of(shape, to_device, from_host);
      if (block.pieces == 1)
        queue_to_device(*gpu_, to_device.data, from_host.data, block.piece_bytes, stream(Lane::in));
      else
        queue_to_device(*gpu_, to_device.data, from_host.data, block, stream(Lane::in));
    });
  }
  void copy_out(const Block& to_host, const Block& from_device, const BlockShape& shape) override {
    guard("copying from it", [&] {
      const CopiedBlock block = block_of(shape, from_device, to_host);
      if (block.pieces == 1)
        queue_to_host(*gpu_, to_host.data, from_device.data, block.piece_bytes, stream(Lane::out));
      else
        queue_to_host(*gpu_, to_host.data, from_device.data, block, stream(Lane::out));
    });
  }
  void copy_from_peer(Lane lane, const Block& to, StreamDevice& other, const Block& from,
                      const BlockShape& shape, Mark mark) override {
    auto& peer = dynamic_cast<CudaDevice&>(other);
    guard("copying from its neighbour", [&] {
      peer.hold_back_stream(stream(lane), mark);
      const CopiedBlock block = block_of(shape, to, from);
      if (block.pieces == 1)
        queue_from_peer(*gpu_, to.data, *peer.gpu_, from.data, block.piece_bytes, stream(lane));
      else
        queue_from_peer(*gpu_, to.data, from.data, block, stream(lane));
    });
  }
  void multiply(const GemmProblem& problem, const Operands& operands) override {
    guard("multiplying", [&] {
      const Gpu::Current current(*gpu_);
      Operands queued = operands;
      queued.stream = stream(Lane::compute);
      multiply_(problem, queued);
    });
  }

  bool adds() const override { return GpuBlas::is_there(); }
  void add(DType dtype, const Block& to, const Block& from, const BlockShape& shape,
           const void* beta) override {
    guard("adding", [&] {
      const Gpu::Current current(*gpu_);
      if (!blas_) {
        blas_.emplace();
        blas_->set_stream(stream(Lane::compute));
      }
      blas_->add(dtype, shape.rows, shape.columns, beta, from.data, from.pitch_bytes / shape.element_bytes,
                 to.data, to.pitch_bytes / shape.element_bytes);
    });
  }

  CUstream_st* native_stream(Lane lane) const override { return stream(lane); }

  Mark mark(Lane lane) override {
    return guard("marking", [&] {
      const std::lock_guard lock(mutex_);
      // Room for all events, so that wait_all() allocates nothing.
      const std::size_t all = marks_.size() + spare_.size() + 1;
      if (spare_.capacity() < all) spare_.reserve(2 * all);
      if (spare_.empty()) spare_.emplace_back(*gpu_);
      marks_.push_back(std::move(spare_.back()));
      spare_.pop_back();
      marks_.back().record(stream(lane));
      return passed_ + Mark(marks_.size());
    });
  }
  void hold_back(Lane lane, Mark mark) override {
    guard("holding back", [&] { hold_back_stream(stream(lane), mark); });
  }
  void wait(Mark mark) override {
    guard("waiting", [&] {
      // Not under the lock: a neighbour's question does not wait for this device.
      if (const GpuEvent* event = event_of(mark)) event->synchronize();
    });
  }
  void wait_asleep(Mark mark) override {
    constexpr std::chrono::microseconds nap(50);
    while (!has_passed(mark)) std::this_thread::sleep_for(nap);
  }
  bool has_passed(Mark mark) override {
    return guard("asking", [&] {
      const GpuEvent* event = event_of(mark);
      return event == nullptr || event->has_passed();
    });
  }
  void wait_all() override {
    guard("waiting", [&] {
      // For each of them, also after one that failed: what is queued may still use the caller's memory.
      std::exception_ptr failure;
      for (const GpuStream& one : streams_) try {
          one.synchronize();
        } catch (...) {
          failure = std::current_exception();
        }
      const std::lock_guard lock(mutex_);
      passed_ += Mark(marks_.size());
      std::move(marks_.begin(), marks_.end(), std::back_inserter(spare_));  // mark() made room for them
      marks_.clear();
      if (failure) std::rethrow_exception(failure);
    });
  }

 private:
  CUstream_st* stream(Lane lane) const { return streams_[std::size_t(lane)].get(); }

  // One piece where both sides are without gaps.
  static CopiedBlock block_of(const BlockShape& shape, const Block& device, const Block& other) {
    const auto column = std::size_t(shape.rows * shape.element_bytes);
    CopiedBlock block{column, std::size_t(shape.columns), std::size_t(device.pitch_bytes),
                      std::size_t(other.pitch_bytes)};
    if (block.device_pitch == column && block.host_pitch == column) {
      block.piece_bytes = column * block.pieces;
      block.pieces = 1;
    }
    return block;
  }

  // Null for what has passed. Events stay where they are until wait_all(), which the owner's thread calls.
  const GpuEvent* event_of(Mark mark) const {
    const std::lock_guard lock(mutex_);
    return mark <= passed_ ? nullptr : &marks_[std::size_t(mark - passed_ - 1)];
  }
  void hold_back_stream(CUstream_st* held, Mark mark) const {
    const std::lock_guard lock(mutex_);  // a neighbour asks: its event must not be used again meanwhile
    if (mark > passed_) marks_[std::size_t(mark - passed_ - 1)].hold_back(held);
  }

  // Names the device, except of what is none of its faults: too little memory, what cannot be done at all.
  template <class Do>
  auto guard(const char* doing, Do&& work) const -> decltype(work()) {
    try {
      return work();
    } catch (const Error& error) {
      const bool is_lost = error.code() == ErrorCode::device_lost;
      if (!is_lost && error.code() != ErrorCode::internal) throw;
      if (is_lost || has_lost())
        throw Error(ErrorCode::device_lost, "gpu",
                    fmt::format("{} is lost: {}: {}", name(), doing, error.what()));
      throw Error(error.code(), "gpu", fmt::format("{}: {}: {}", name(), doing, error.what()));
    }
  }
  // Any call tells of what happened before that leaves the device unusable.
  bool has_lost() const {
    try {
      free_memory(*gpu_);
      return false;
    } catch (const Error& error) {
      return error.code() == ErrorCode::device_lost;
    }
  }

  std::shared_ptr<const Gpu> gpu_;
  std::function<void(const GemmProblem&, const Operands&)> multiply_;
  std::vector<GpuStream> streams_;  // by lane
  std::shared_ptr<MemoryPool<GpuBuffer>> device_pool_;
  std::shared_ptr<MemoryPool<PinnedBuffer>> pinned_pool_;
  std::optional<GpuBlas> blas_;  // opened by the first that adds

  mutable LongMutex mutex_;     // of marks and of who is reached
  std::deque<GpuEvent> marks_;  // those after the first passed_
  std::vector<GpuEvent> spare_;
  Mark passed_ = 0;
  mutable std::map<int, bool> reached_;
};

}  // namespace

std::unique_ptr<StreamDevice> make_cuda_device(
    int ordinal, std::function<void(const GemmProblem&, const Operands&)> multiply) {
  return std::make_unique<CudaDevice>(ordinal, std::move(multiply));
}

}  // namespace tilewright
