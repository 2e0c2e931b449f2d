// Blocks of pageable host memory on their way to a GPU and back: through rings of pinned buffers, which a
// team of threads fills ahead of the copies and empties behind them. Which blocks, and what must have
// happened before, is the executor's.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "gemm/hybrid/stream/copy_team.hpp"
#include "gemm/hybrid/stream/stream_device.hpp"

namespace tilewright {

// A block of host memory and its place in device memory.
struct StagedBlock {
  Block host, device;
  BlockShape shape;
};

// The same block in pieces of at most `bytes`: of whole columns where one fits, else of parts of columns.
std::vector<StagedBlock> pieces_of(const StagedBlock& block, std::int64_t bytes);

// Pinned buffers in a row. How many bytes each holds does not depend on what passes through.
class StagingRing {
 public:
  StagingRing(StreamDevice& device, std::int64_t ring_bytes, std::int64_t most_bytes);
  std::int64_t slot_bytes() const { return slot_bytes_; }
  std::size_t slots() const { return slot_count_; }
  Block slot(std::size_t index, const BlockShape& shape) const;

 private:
  std::int64_t slot_bytes_;
  std::size_t slot_count_;
  std::unique_ptr<PinnedMemory> memory_;
};

// Copies in of blocks whose order is known beforehand.
class StagedInput {
 public:
  StagedInput(StreamDevice& device, CopyTeam& team, std::int64_t ring_bytes, std::vector<StagedBlock> blocks);
  ~StagedInput();

  // Queues the copies of the next block of the list.
  void copy_next();
  // Has buffers filled that are free, for blocks to come.
  void fill_ahead();

 private:
  void fill(std::size_t piece);

  StreamDevice& device_;
  CopyTeam& team_;
  StagingRing ring_;
  std::vector<StagedBlock> pieces_;
  std::deque<std::size_t> ends_;           // of the blocks that are left, in pieces
  std::vector<CopyTeam::Ticket> tickets_;  // of slots
  std::vector<StreamDevice::Mark> marks_;  // after the last copy from each slot
  std::size_t filled_ = 0, copied_ = 0;    // pieces
};

// Copies out. `arrived` is called with the number of each piece that the device has brought back whole: it is
// in host memory once this object has finished or is gone.
class StagedOutput {
 public:
  StagedOutput(StreamDevice& device, CopyTeam& team, std::int64_t ring_bytes, std::int64_t most_bytes,
               std::function<void(int piece)> arrived);
  ~StagedOutput();

  std::int64_t slot_bytes() const { return ring_.slot_bytes(); }
  // One piece, of at most slot_bytes(), which is copied out after the mark.
  void add(int piece, const StagedBlock& block, StreamDevice::Mark after);
  // Does what can be done without waiting.
  void serve();
  // Waits until all that was added has been queued for copying, or is in host memory.
  void queue_all();
  void finish();

 private:
  struct Entry {
    int piece;
    StagedBlock block;
    StreamDevice::Mark mark;  // before it is queued: to wait for; then: after its copy
    std::size_t slot = 0;
  };
  void empty(const Entry& entry);
  void wait_for_one();

  StreamDevice& device_;
  CopyTeam& team_;
  StagingRing ring_;
  std::function<void(int)> arrived_;
  std::vector<CopyTeam::Ticket> tickets_;
  std::deque<Entry> waiting_, copying_, emptying_;
  std::size_t next_slot_ = 0;
};

}  // namespace tilewright
