// The GPUs of this machine for products of host operands. Lanes are streams, marks are events; memory is
// kept, since allocating costs as much as moving some 100 MB. Tiles are plans of the same Context.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <exception>
#include <map>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "core/env.hpp"
#include "device/gpu/blas.hpp"
#include "device/gpu/copies.hpp"
#include "device/gpu/gpu.hpp"
#include "gemm/hybrid/node.hpp"
#include "gemm/plan.hpp"

namespace tilewright {
namespace {

// Free buffers are kept, up to a number of bytes, for the next request of about their size. Pools of one
// memory yield to one another: all of them free their buffers before an allocation fails.

// A pool as the others of its memory see it.
class KeptMemory {
 public:
  virtual ~KeptMemory() = default;
  virtual std::int64_t kept_bytes() const = 0;
  // Frees all kept buffers. Returns their bytes.
  virtual std::int64_t trim() = 0;
};

// The pools of one memory: a GPU's, or pinned memory. Keeps none of them alive.
class MemoryPools {
 public:
  void add(std::weak_ptr<KeptMemory> pool) {
    const std::lock_guard lock(mutex_);
    std::erase_if(pools_, [](const auto& one) { return one.expired(); });
    pools_.push_back(std::move(pool));
  }
  std::int64_t kept_bytes() const {
    std::int64_t bytes = 0;
    for (const auto& pool : living()) bytes += pool->kept_bytes();
    return bytes;
  }
  std::int64_t trim() const {
    std::int64_t bytes = 0;
    for (const auto& pool : living()) bytes += pool->trim();
    return bytes;
  }

 private:
  // Callers use the result without the lock, which the last owner of a pool may take.
  std::vector<std::shared_ptr<KeptMemory>> living() const {
    const std::lock_guard lock(mutex_);
    std::vector<std::shared_ptr<KeptMemory>> all;
    for (const auto& one : pools_)
      if (auto pool = one.lock()) all.push_back(std::move(pool));
    return all;
  }

  mutable LongMutex mutex_;
  std::vector<std::weak_ptr<KeptMemory>> pools_;
};

template <class Buffer>
class MemoryPool : public KeptMemory {
 public:
  using Make = std::function<std::unique_ptr<Buffer>(std::int64_t bytes)>;

  // `make` throws Error(out_of_memory). `others` outlives the pool.
  static std::shared_ptr<MemoryPool> create(std::shared_ptr<MemoryPools> others, Make make,
                                            std::int64_t most_kept_bytes) {
    std::shared_ptr<MemoryPool> pool(new MemoryPool(others, std::move(make), most_kept_bytes));
    others->add(pool);
    return pool;
  }

  // At least so many bytes.
  std::unique_ptr<Buffer> take(std::int64_t bytes) {
    if (std::unique_ptr<Buffer> found = take_kept(bytes)) return found;
    // Without the lock: pools that make room take it.
    try {
      return make(bytes);
    } catch (...) {
      const std::lock_guard lock(mutex_);
      --lent_;
      throw;
    }
  }

  // Allocates nothing.
  void give_back(std::unique_ptr<Buffer> buffer) noexcept {
    const std::lock_guard lock(mutex_);
    --lent_;
    kept_bytes_ += std::int64_t(buffer->bytes());
    kept_.push_back(std::move(buffer));       // take() made room for it
    while (kept_bytes_ > most_kept_bytes_) {  // the oldest goes first
      kept_bytes_ -= std::int64_t(kept_.front()->bytes());
      kept_.erase(kept_.begin());
    }
  }

  std::int64_t kept_bytes() const override {
    const std::lock_guard lock(mutex_);
    return kept_bytes_;
  }
  std::int64_t trim() override {
    const std::lock_guard lock(mutex_);
    kept_.clear();
    return std::exchange(kept_bytes_, 0);
  }
  // The sum over all pools of the same memory.
  std::int64_t all_kept_bytes() const { return others_->kept_bytes(); }

 private:
  MemoryPool(std::shared_ptr<MemoryPools> others, Make make, std::int64_t most_kept_bytes)
      : others_(std::move(others)), make_(std::move(make)), most_kept_bytes_(most_kept_bytes) {}

  // A buffer more than twice as large would be missing elsewhere.
  static bool fits(const Buffer& buffer, std::int64_t bytes) {
    return std::int64_t(buffer.bytes()) >= bytes && std::int64_t(buffer.bytes()) / 2 <= bytes;
  }
  // Null if none fits. Counts one more lent buffer, and reserves places for all of these.
  std::unique_ptr<Buffer> take_kept(std::int64_t bytes) {
    const std::lock_guard lock(mutex_);
    kept_.reserve(kept_.size() + lent_ + 1);
    ++lent_;
    auto best = kept_.end();
    for (auto it = kept_.begin(); it != kept_.end(); ++it)
      if (fits(**it, bytes) && (best == kept_.end() || (*it)->bytes() < (*best)->bytes())) best = it;
    if (best == kept_.end()) return nullptr;
    std::unique_ptr<Buffer> found = std::move(*best);
    kept_.erase(best);
    kept_bytes_ -= std::int64_t(found->bytes());
    return found;
  }
  std::unique_ptr<Buffer> make(std::int64_t bytes) {
    try {
      return make_(bytes);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::out_of_memory || others_->trim() == 0) throw;
    }
    return make_(bytes);
  }

  const std::shared_ptr<MemoryPools> others_;
  const Make make_;
  const std::int64_t most_kept_bytes_;
  mutable LongMutex mutex_;
  std::vector<std::unique_ptr<Buffer>> kept_;  // the oldest first
  std::size_t lent_ = 0;
  std::int64_t kept_bytes_ = 0;
};

// A buffer that returns to its pool, which lives as long.
template <class Interface, class Buffer, auto address>
class PooledMemory : public Interface {
 public:
  PooledMemory(std::shared_ptr<MemoryPool<Buffer>> pool, std::int64_t bytes)
      : pool_(std::move(pool)), buffer_(pool_->take(bytes)) {}
  ~PooledMemory() override { pool_->give_back(std::move(buffer_)); }
  void* data() const override { return address(*buffer_); }

 private:
  std::shared_ptr<MemoryPool<Buffer>> pool_;
  std::unique_ptr<Buffer> buffer_;
};

// The pinned memory that the products of a node's processes may keep, each its part.
constexpr std::int64_t most_pinned_bytes = std::int64_t(1) << 30;
// Products may keep this fraction (1 / 8) of the device's memory for the next.
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

// The number of ranks of this node that share this rank's GPUs.
int sharers() {
  std::string none;
  return part_of_gpus(local_rank(), Gpu::count(none)).sharers;
}

class CudaDevice : public StreamDevice {
 public:
  CudaDevice(int ordinal, DeviceMultiply multiply)
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
      // The device is lost, or there is no memory to say so.
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
      // Without the lock: a neighbour that asks for marks must not wait for this device.
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
      // Also after one that failed: queued work may still use the caller's memory.
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

  // One piece if both sides are without gaps.
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

  // Null for a mark that has passed. Events keep their address until the owner's thread calls wait_all().
  const GpuEvent* event_of(Mark mark) const {
    const std::lock_guard lock(mutex_);
    return mark <= passed_ ? nullptr : &marks_[std::size_t(mark - passed_ - 1)];
  }
  void hold_back_stream(CUstream_st* held, Mark mark) const {
    const std::lock_guard lock(mutex_);  // a neighbour calls: the event must not be reused meanwhile
    if (mark > passed_) marks_[std::size_t(mark - passed_ - 1)].hold_back(held);
  }

  // Adds the device's name to errors that are its faults: not to out_of_memory or unsupported. cuBLAS does
  // not distinguish a lost device from a call that fails, so the driver is asked.
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
  // Any call reports an earlier error that leaves the device unusable.
  bool has_lost() const {
    try {
      free_memory(*gpu_);
      return false;
    } catch (const Error& error) {
      return error.code() == ErrorCode::device_lost;
    }
  }

  std::shared_ptr<const Gpu> gpu_;
  DeviceMultiply multiply_;
  std::vector<GpuStream> streams_;  // by lane
  std::shared_ptr<MemoryPool<GpuBuffer>> device_pool_;
  std::shared_ptr<MemoryPool<PinnedBuffer>> pinned_pool_;
  std::optional<GpuBlas> blas_;  // opened by the first add()

  mutable LongMutex mutex_;     // of marks and reached devices
  std::deque<GpuEvent> marks_;  // those after the first passed_
  std::vector<GpuEvent> spare_;
  Mark passed_ = 0;
  mutable std::map<int, bool> reached_;
};

class MachineGpus : public HybridGpus {
 public:
  std::vector<HybridGpu> list(std::string& why_none) override {
    std::vector<HybridGpu> all;
    const int count = Gpu::count(why_none);
    for (int device = 0; device < count; ++device) {
      const GpuLimits limits = Gpu::limits_of(device);
      if (const std::string too_old = why_too_old(limits); !too_old.empty())
        why_none = too_old;
      else
        all.push_back({device, limits.name, limits.memory_bytes});
    }
    if (!all.empty()) why_none.clear();
    return all;
  }

  std::unique_ptr<StreamDevice> open(int ordinal, DeviceMultiply multiply) override {
    return std::make_unique<CudaDevice>(ordinal, std::move(multiply));
  }

  DeviceProduct prepare(Context::Impl& context, const StreamProduct& product, int ordinal,
                        bool may_compile) override {
    GemmProblem problem = product.problem;
    problem.residency = Residency::cold;
    GemmOptions options;
    options.queue.device = ordinal;
    options.align_bytes = product.align_bytes;
    auto plan = context.part_plans.find(problem, options);
    constexpr bool shares_configs = true;
    if (plan == nullptr) plan = make_plan(context, problem, options, may_compile, shares_configs);
    if (plan->candidate.empty())
      throw Error(ErrorCode::unsupported, "problem",
                  fmt::format("no candidate runs {} on a GPU: {}", to_string(problem),
                              plan->decisions.empty() ? "" : plan->decisions.front().reason));
    plan = context.part_plans.add(problem, options, plan);
    return [plan](const Operands& operands) { execute(*plan, operands); };
  }
};

}  // namespace

std::unique_ptr<StreamDevice> make_cuda_device(int ordinal, DeviceMultiply multiply) {
  return std::make_unique<CudaDevice>(ordinal, std::move(multiply));
}
std::unique_ptr<HybridGpus> machine_gpus() { return std::make_unique<MachineGpus>(); }

}  // namespace tilewright
