// One GPU's share of a product or batch being computed: its buffers, its rings for pageable operands, and the
// steps of its schedule, queued in order by one thread. stream.cpp deals with a share that fails.
#pragma once

#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "gemm/hybrid/stream/staging.hpp"
#include "gemm/hybrid/stream/stream_job.hpp"

namespace tilewright {

// Slices of the operand that all GPUs need, on their way from the GPU that has them from the host to the
// others: the address of each and the mark after which it is there.
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
  // The share will offer no further slices.
  void fail(int share) {
    const std::lock_guard lock(mutex_);
    failed_[std::size_t(share)] = true;
    changed_.notify_all();
  }
  // Waits until the slice is queued on its owner; returns nothing if that share failed.
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

// The common state of the shares of one product.
struct StreamRun {
  const StreamJob& job;
  const StreamShape shape;
  SliceExchange exchange;
  Workers& team;
  std::int64_t ring_bytes = 0;
  const void* beta = nullptr;  // its value, whatever its class
};

class ShareRun {
 public:
  ShareRun(StreamRun& run, int index, StreamDevice& device);

  // By one thread. Returns when its part of C is in host memory; failure() keeps exceptions.
  void compute() noexcept;
  // After all shares have returned: gives the buffers back.
  void release() noexcept;

  std::exception_ptr failure() const { return failure_; }
  StreamDevice& device() const { return device_; }
  double seconds() const { return seconds_; }
  // Calls use() with each block of C that may be incomplete, adjacent ones joined. Allocates nothing.
  void each_missing(const std::function<void(const StoredBlock&)>& use) const;

 private:
  struct OutBlock {
    StoredBlock c;
    bool arrived = false;
  };
  void choose_staged();
  void prepare();
  void prepare_rings();
  RingSize ring_for(const std::vector<StagedBlock>& blocks, const ForMatrices& with_pieces) const;
  void list_out_blocks();
  void run_steps();
  void step(std::size_t index);
  void copy_in(std::size_t index);
  void copy_out(std::size_t index);
  void multiply(const StreamStep& step);
  void add_c(const StreamStep& step);
  void hold_back(const StreamStep& step);
  StreamDevice::Mark mark_of(int step);
  void note_arrivals();

  bool is_staged(ProductMatrix which) const { return staged_[std::size_t(which)]; }
  // The address of the step's block of the matrix in its buffer; with its place in host memory.
  char* in_buffer(const StreamStep& step, ProductMatrix which) const;
  StagedBlock block_of(const StreamStep& step, ProductMatrix which) const;

  StreamRun& run_;
  int index_;
  StreamDevice& device_;
  const StreamSchedule& schedule_;
  ForMatrices staged_{};
  std::array<std::vector<std::unique_ptr<DeviceMemory>>, 3> memory_;  // as the schedule's buffers
  std::unique_ptr<StagedInput> input_;
  std::unique_ptr<StagedOutput> output_;
  std::vector<StreamDevice::Mark> marks_;  // of steps that are waited for
  std::vector<OutBlock> out_blocks_;
  std::vector<std::size_t> first_out_block_;                         // of each step
  std::vector<std::pair<StreamDevice::Mark, std::size_t>> leaving_;  // out blocks, copied without a ring
  std::size_t left_ = 0;                                             // of those, known to have arrived
  std::exception_ptr failure_;
  double seconds_ = 0;
};

}  // namespace tilewright
