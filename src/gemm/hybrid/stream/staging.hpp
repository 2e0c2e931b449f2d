// Blocks of pageable host memory, or problems that lie apart, on their way to a GPU and back: through rings
// of pinned buffers, which threads fill ahead of the copies and empty behind them. Which blocks, and what
// must have happened before, is the executor's.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "device/workers.hpp"
#include "gemm/hybrid/split/shape.hpp"
#include "gemm/hybrid/stream/stream_device.hpp"

namespace tilewright {

// Problems of a batch that make no block of host memory: items of it are copied one after the other.
struct GatheredProblems {
  const StreamShape* shape = nullptr;  // null: they are a block
  ProductMatrix matrix = ProductMatrix::c;
  IndexRange problems;
};

// A block of host memory and its place in device memory. Of gathered problems `host` is where their operand
// begins.
struct StagedBlock {
  Block host, device;
  BlockShape shape;
  GatheredProblems gathered = {};
};

// The same block in pieces of at most `bytes`: of whole columns where one fits, else of parts of columns.
// What is gathered stays whole.
std::vector<StagedBlock> pieces_of(const StagedBlock& block, std::int64_t bytes);

// How many buffers a ring has, and of how many bytes.
struct RingSize {
  std::int64_t slot_bytes = 0;
  std::size_t slots = 0;
};
// A ring of at most `ring_bytes`, or of what passes through, if that is less.
RingSize ring_size(std::int64_t ring_bytes, std::int64_t most_bytes);

// Pinned buffers in a row. How many bytes each holds does not depend on what passes through.
class StagingRing {
 public:
  StagingRing(StreamDevice& device, const RingSize& size)
      : size_(size), memory_(device.allocate_pinned(size.slot_bytes * std::int64_t(size.slots))) {}
  std::int64_t slot_bytes() const { return size_.slot_bytes; }
  std::size_t slots() const { return size_.slots; }
  Block slot(std::size_t index, const BlockShape& shape) const;

 private:
  RingSize size_;
  std::unique_ptr<PinnedMemory> memory_;
};

// Copies in of blocks whose order is known beforehand.
class StagedInput {
 public:
  StagedInput(StreamDevice& device, Workers& team, const RingSize& ring,
              const std::vector<StagedBlock>& blocks);
  ~StagedInput();

  // Queues the copies of the next block of the list.
  void copy_next();
  // Has buffers filled that are free, for blocks to come.
  void fill_ahead();

 private:
  void fill(std::size_t piece);

  StreamDevice& device_;
  Workers& team_;
  StagingRing ring_;
  std::vector<StagedBlock> pieces_;
  std::deque<std::size_t> ends_;           // of the blocks that are left, in pieces
  std::vector<Workers::Ticket> tickets_;   // of slots
  std::vector<StreamDevice::Mark> marks_;  // after the last copy from each slot
  std::size_t filled_ = 0, copied_ = 0;    // pieces
};

// Copies out. `arrived` is called with the number of each piece that the device has brought back whole: it is
// in host memory once this object has finished or is gone.
class StagedOutput {
 public:
  StagedOutput(StreamDevice& device, Workers& team, const RingSize& ring,
               std::function<void(int piece)> arrived);
  ~StagedOutput();

  std::int64_t slot_bytes() const { return ring_.slot_bytes(); }
  // One piece, of at most slot_bytes(), which is copied out after the mark.
  void add(int piece, const StagedBlock& block, StreamDevice::Mark after);
  // Does what can be done without waiting.
  void serve();
  // Waits until the piece has been queued for copying: the mark after its copy.
  StreamDevice::Mark mark_after(int piece);
  // Waits until all that was added is in host memory.
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
  Workers& team_;
  StagingRing ring_;
  std::function<void(int)> arrived_;
  std::vector<Workers::Ticket> tickets_;
  std::deque<Entry> waiting_, copying_, emptying_;
  std::vector<StreamDevice::Mark> queued_;  // after each piece's copy; 0: not yet
  std::size_t next_slot_ = 0;
};

}  // namespace tilewright
