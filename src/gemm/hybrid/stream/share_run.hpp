// One GPU's share of a product or batch being computed: its buffers, its rings where operands are pageable,
// and the steps of its schedule, queued in order by one thread. What becomes of a share that fails is
// stream.cpp's.
#pragma once

#include <exception>
#include <memory>
#include <vector>

#include "gemm/hybrid/stream/exchange.hpp"
#include "gemm/hybrid/stream/staging.hpp"
#include "gemm/hybrid/stream/stream_job.hpp"

namespace tilewright {

// What the shares of one product have in common.
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

  // By one thread. Returns when the share's part of C is complete in host memory; what it throws is kept as
  // failure().
  void compute() noexcept;
  // After all shares have returned: gives the buffers back.
  void release() noexcept;

  std::exception_ptr failure() const { return failure_; }
  StreamDevice& device() const { return device_; }
  double seconds() const { return seconds_; }
  // Blocks of C that are not known to be complete, one after the other and adjacent ones joined; of a batch
  // its problems are columns. Asks for no memory.
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
  // Where the step's block of the matrix lies in its buffer; and in host memory too.
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
