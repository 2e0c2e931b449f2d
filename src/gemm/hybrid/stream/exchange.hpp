// Slices of the operand that all GPUs need, on their way from the one that has them from the host to the
// others: where each lies and after which mark. It moves nothing.
#pragma once

#include <condition_variable>
#include <mutex>
#include <optional>
#include <vector>

#include "gemm/hybrid/stream/stream_device.hpp"

namespace tilewright {

class SliceExchange {
 public:
  struct Slice {
    StreamDevice* device = nullptr;
    Block block;
    StreamDevice::Mark mark = 0;
  };

  SliceExchange(int shares, int slices) : slices_(std::size_t(slices)), failed_(std::size_t(shares)) {}

  void offer(int slice, const Slice& place) {
    const std::lock_guard lock(mutex_);
    slices_[std::size_t(slice)] = place;
    changed_.notify_all();
  }
  // What this share has not offered yet, it never will.
  void fail(int share) {
    const std::lock_guard lock(mutex_);
    failed_[std::size_t(share)] = true;
    changed_.notify_all();
  }
  // Waits until it is queued there; nothing where the share that was to have it failed.
  std::optional<Slice> take(int slice, int owner) {
    std::unique_lock lock(mutex_);
    const std::optional<Slice>& place = slices_[std::size_t(slice)];
    changed_.wait(lock, [&] { return place.has_value() || failed_[std::size_t(owner)]; });
    return failed_[std::size_t(owner)] ? std::nullopt : place;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::optional<Slice>> slices_;
  std::vector<bool> failed_;
};

}  // namespace tilewright
