// Buffers that are kept for the next who needs one of about their size, up to so many bytes of those that
// nobody has. Pools of one memory yield to one another: what all of them keep goes before an allocation is
// given up.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "core/host/fork_gate.hpp"
#include "tilewright/types.hpp"

namespace tilewright {

// A pool as the others of its memory see it.
class KeptMemory {
 public:
  virtual ~KeptMemory() = default;
  virtual std::int64_t kept_bytes() const = 0;
  // Frees all that is kept; tells how many bytes.
  virtual std::int64_t trim() = 0;
};

// The pools of one memory: a GPU's, or the host's that is pinned. It keeps none of them alive.
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
  // Asked without the lock, which the last owner of a pool could want.
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

  // `make` throws Error(out_of_memory) where there is none. The others outlive it.
  static std::shared_ptr<MemoryPool> create(std::shared_ptr<MemoryPools> others, Make make,
                                            std::int64_t most_kept_bytes) {
    std::shared_ptr<MemoryPool> pool(new MemoryPool(others, std::move(make), most_kept_bytes));
    others->add(pool);
    return pool;
  }

  // At least so many bytes.
  std::unique_ptr<Buffer> take(std::int64_t bytes) {
    if (std::unique_ptr<Buffer> found = take_kept(bytes)) return found;
    // Not under the lock: others that make room for themselves may want it.
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
  // Of all pools of the same memory.
  std::int64_t all_kept_bytes() const { return others_->kept_bytes(); }

 private:
  MemoryPool(std::shared_ptr<MemoryPools> others, Make make, std::int64_t most_kept_bytes)
      : others_(std::move(others)), make_(std::move(make)), most_kept_bytes_(most_kept_bytes) {}

  // A buffer twice as large as asked for would keep others from what they need.
  static bool fits(const Buffer& buffer, std::int64_t bytes) {
    return std::int64_t(buffer.bytes()) >= bytes && std::int64_t(buffer.bytes()) / 2 <= bytes;
  }
  // Null where none fits. Counts one more that is lent, and has a place for each of these.
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

// A buffer of a pool, which gets it back; the pool lives as long.
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

}  // namespace tilewright
