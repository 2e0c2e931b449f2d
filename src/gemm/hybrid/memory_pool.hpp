// Buffers that are kept for the next who needs one of about their size, up to so many bytes of those that
// nobody has.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "tilewright/types.hpp"

namespace tilewright {

template <class Buffer>
class MemoryPool {
 public:
  using Make = std::function<std::unique_ptr<Buffer>(std::int64_t bytes)>;

  // `make` throws Error(out_of_memory) where there is none.
  MemoryPool(Make make, std::int64_t most_kept_bytes)
      : make_(std::move(make)), most_kept_bytes_(most_kept_bytes) {}

  // At least so many bytes. What is kept goes before an allocation is given up.
  std::unique_ptr<Buffer> take(std::int64_t bytes) {
    const std::lock_guard lock(mutex_);
    auto best = kept_.end();
    for (auto it = kept_.begin(); it != kept_.end(); ++it)
      if (fits(**it, bytes) && (best == kept_.end() || (*it)->bytes() < (*best)->bytes())) best = it;
    if (best != kept_.end()) {
      std::unique_ptr<Buffer> found = std::move(*best);
      kept_.erase(best);
      kept_bytes_ -= std::int64_t(found->bytes());
      return found;
    }
    try {
      return make_(bytes);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::out_of_memory || kept_.empty()) throw;
    }
    clear();
    return make_(bytes);
  }

  void give_back(std::unique_ptr<Buffer> buffer) {
    const std::lock_guard lock(mutex_);
    kept_bytes_ += std::int64_t(buffer->bytes());
    kept_.push_back(std::move(buffer));
    while (kept_bytes_ > most_kept_bytes_ && !kept_.empty()) {  // the oldest goes first
      kept_bytes_ -= std::int64_t(kept_.front()->bytes());
      kept_.erase(kept_.begin());
    }
  }

  std::int64_t kept_bytes() const {
    const std::lock_guard lock(mutex_);
    return kept_bytes_;
  }

 private:
  // A buffer twice as large as asked for would keep others from what they need.
  static bool fits(const Buffer& buffer, std::int64_t bytes) {
    return std::int64_t(buffer.bytes()) >= bytes && std::int64_t(buffer.bytes()) / 2 <= bytes;
  }
  void clear() {
    kept_.clear();
    kept_bytes_ = 0;
  }

  Make make_;
  const std::int64_t most_kept_bytes_;
  mutable std::mutex mutex_;
  std::vector<std::unique_ptr<Buffer>> kept_;
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
