// One GPU's share of a product being computed: its buffers, its rings where operands are pageable, and the
// steps of its schedule, queued in order by one thread. What becomes of a share that fails is stream.cpp's.
#pragma once

#include <memory>
#include <vector>

#include "gemm/hybrid/split/schedule.hpp"
#include "gemm/hybrid/stream/exchange.hpp"
#include "gemm/hybrid/stream/staging.hpp"
#include "gemm/hybrid/stream/stream_job.hpp"
#include "gemm/hybrid/stream/stream_share.hpp"

namespace tilewright {

// The part of the product that computes this block of C alone.
GemmProblem part_of_c(const GemmProblem& problem, const StoredBlock& block);
Operands operands_of_c(const GemmProblem& problem, const Operands& operands, const StoredBlock& block);

// What the shares of one product have in common.
struct StreamRun {
  const StreamJob& job;
  const StreamShape shape;
  std::vector<int> peers;  // shares that pass slices on
  SliceExchange exchange;
  CopyTeam& team;
  std::int64_t ring_bytes = 0;
  const void* beta = nullptr;  // its value, whatever its class
};

class ShareRun : public StreamShare {
 public:
  ShareRun(StreamRun& run, int index, StreamDevice& device);

  void compute() noexcept override;
  void release() noexcept override;

  std::exception_ptr failure() const override { return failure_; }
  StreamDevice& device() const override { return device_; }
  double seconds() const override { return seconds_; }
  void each_missing(const std::function<void(const StoredBlock&)>& use) const override;

 private:
  struct OutBlock {
    StoredBlock c;
    bool arrived = false;
  };
  struct Pinned {
    bool resident = false, streamed = false, c = false;
  };

  void prepare();
  void list_out_blocks();
  void run_steps();
  void step(std::size_t index);
  void copy_in(const StreamStep& step, const StagedBlock& block, bool pinned);
  void copy_resident(std::size_t index);
  void copy_out(std::size_t index);
  void multiply(const StreamStep& step);
  void add_c(const StreamStep& step);
  void hold_back(const StreamStep& step);
  StreamDevice::Mark mark_of(int step);
  void note_arrivals();

  // Where a block lies in the host's memory and in a buffer that is laid out from `origin` on.
  StagedBlock placed(const void* host, std::int64_t host_ld, const DeviceMemory& memory,
                     const StepBuffer& buffer, const StoredBlock& block, const StoredBlock& origin) const;
  StagedBlock resident_block(const StreamStep& step) const;
  StagedBlock streamed_block(const StreamStep& step) const;
  StagedBlock c_block(const StreamStep& step) const;

  StreamRun& run_;
  int index_;
  StreamDevice& device_;
  GpuShare share_;
  StreamSchedule schedule_;
  Pinned pinned_;
  std::vector<std::unique_ptr<DeviceMemory>> resident_, streamed_, c_;
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
