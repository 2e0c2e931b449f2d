// Moves blocks of pageable host memory, or problems that lie apart, to a GPU and back: through rings of
// pinned buffers, which threads fill ahead of the copies and empty behind.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "device/workers.hpp"
#include "gemm/hybrid/split/shape.hpp"
#include "gemm/hybrid/stream/stream_device.hpp"

namespace tilewright {

// Problems of a batch that are not one block of host memory: their items are copied one by one.
struct GatheredProblems {
  const StreamShape* shape = nullptr;  // null: they are a block
  ProductMatrix matrix = ProductMatrix::c;
  IndexRange problems;
};

// A block of host memory and its place in device memory. `host` of gathered problems is the operand's.
struct StagedBlock {
  Block host, device;
  BlockShape shape;
  GatheredProblems gathered = {};
};

// Pieces of at most `bytes`: whole columns if one fits, else parts; gathered problems stay whole.
std::vector<StagedBlock> pieces_of(const StagedBlock& block, std::int64_t bytes);

// The bytes of each buffer of a ring, and their number.
struct RingSize {
  std::int64_t slot_bytes = 0;
  std::size_t slots = 0;
};
// A ring of at most `ring_bytes`, or `most_bytes` if no more will pass.
RingSize ring_size(std::int64_t ring_bytes, std::int64_t most_bytes);

// A ring of pinned buffers that threads fill or empty. Its sizes do not depend on the blocks that pass.
class StagedCopies {
 public:
  // Waits for the threads: they must not use buffers that are gone.
  ~StagedCopies() {
    for (Workers::Ticket& ticket : tickets_) team_.finish(ticket);
  }
  std::int64_t slot_bytes() const { return size_.slot_bytes; }

 protected:
  StagedCopies(StreamDevice& device, Workers& team, const RingSize& ring)
      : device_(device),
        team_(team),
        size_(ring),
        memory_(device.allocate_pinned(ring.slot_bytes * std::int64_t(ring.slots))),
        tickets_(ring.slots) {}
  Block slot(std::size_t index, const BlockShape& shape) const;

  StreamDevice& device_;
  Workers& team_;
  const RingSize size_;
  std::unique_ptr<PinnedMemory> memory_;
  std::vector<Workers::Ticket> tickets_;  // of slots
};

// Copies in blocks in an order that is known beforehand.
class StagedInput : public StagedCopies {
 public:
  StagedInput(StreamDevice& device, Workers& team, const RingSize& ring,
              const std::vector<StagedBlock>& blocks);

  // Queues the copies of the next block of the list.
  void copy_next();
  // Has free buffers filled for later blocks.
  void fill_ahead();

 private:
  void fill(std::size_t piece);

  std::vector<StagedBlock> pieces_;
  std::deque<std::size_t> ends_;           // of the remaining blocks, in pieces
  std::vector<StreamDevice::Mark> marks_;  // after the last copy from each slot
  std::size_t filled_ = 0, copied_ = 0;    // pieces
};

// Copies out. Calls `arrived` with the number of each piece that the device has brought back whole: it is in
// host memory once this object has finished or is destroyed.
class StagedOutput : public StagedCopies {
 public:
  StagedOutput(StreamDevice& device, Workers& team, const RingSize& ring,
               std::function<void(int piece)> arrived)
      : StagedCopies(device, team, ring), arrived_(std::move(arrived)) {}

  // One piece, of at most slot_bytes(), which is copied out after the mark.
  void add(int piece, const StagedBlock& block, StreamDevice::Mark after);
  // Makes progress without waiting.
  void serve();
  // Waits until the piece has been queued for copying. Returns the mark after its copy.
  StreamDevice::Mark mark_after(int piece);
  // Waits until all pieces are in host memory.
  void finish();

 private:
  struct Entry {
    int piece;
    StagedBlock block;
    StreamDevice::Mark mark;  // before its copy is queued: to wait for; then: after its copy
    std::size_t slot = 0;
  };
  void empty(const Entry& entry);
  void wait_for_one();

  std::function<void(int)> arrived_;
  std::deque<Entry> waiting_, copying_, emptying_;
  std::vector<StreamDevice::Mark> queued_;  // after each piece's copy; 0: not yet
  std::size_t next_slot_ = 0;
};

}  // namespace tilewright
