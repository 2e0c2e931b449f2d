// One GPU's share of a batch being computed: pieces of its problems follow one another through a few slots of
// device memory, each copied in, multiplied and copied out while its neighbours do the same. What of an
// operand is no block of pinned memory comes by way of pinned buffers, which a team of threads fills and
// empties. What becomes of a share that fails is stream.cpp's.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "gemm/hybrid/split/batch_shape.hpp"
#include "gemm/hybrid/stream/copy_team.hpp"
#include "gemm/hybrid/stream/stream_job.hpp"
#include "gemm/hybrid/stream/stream_share.hpp"

namespace tilewright {

class BatchRun : public StreamShare {
 public:
  BatchRun(const StreamJob& job, CopyTeam& team, int index, StreamDevice& device);

  void compute() noexcept override;
  void release() noexcept override;

  std::exception_ptr failure() const override { return failure_; }
  StreamDevice& device() const override { return device_; }
  double seconds() const override { return seconds_; }
  void each_missing(const std::function<void(const StoredBlock&)>& use) const override;

 private:
  static constexpr std::size_t none = std::size_t(-1);

  // What one piece occupies on its way. The last slot's C of piece p is in host memory before piece p + slots
  // enters.
  struct Slot {
    std::array<std::unique_ptr<DeviceMemory>, 3> device;
    std::array<std::unique_ptr<PinnedMemory>, 3> staged;  // of operands that come by way of it
    CopyTeam::Ticket filled, emptied;
    StreamDevice::Mark out = 0;
    std::size_t piece = none;    // that is in it
    std::size_t filling = none;  // that its pinned buffers are being filled with
  };

  void prepare();
  void run_pieces();
  void copy_shared();
  // Whether the piece comes to be filled, or has been; may wait only where it must.
  void fill(std::size_t piece);
  void queue(std::size_t piece);
  void retire(Slot& slot);
  void copy_in(Slot& slot, BatchMatrix which, const IndexRange& piece);
  void copy_out(Slot& slot, const IndexRange& piece);
  void stage(Slot& slot, BatchMatrix which, const IndexRange& piece, bool in, CopyTeam::Ticket& ticket);
  void multiply(Slot& slot, const IndexRange& piece);

  Slot& slot_of(std::size_t piece) { return slots_[piece % slots_.size()]; }
  bool is_staged(BatchMatrix which) const { return staged_[std::size_t(which)]; }
  void* host(BatchMatrix which) const;
  Block device_block(const Slot& slot, BatchMatrix which, const BatchBlock& block) const;
  bool comes_with_pieces(BatchMatrix which) const {
    return !shape_.is_shared(which) && (which != BatchMatrix::c || shape_.reads_c());
  }

  const StreamJob& job_;
  const BatchShape shape_;
  CopyTeam& team_;
  StreamDevice& device_;
  const GpuShare share_;
  std::array<bool, 3> staged_{};
  std::vector<IndexRange> pieces_;
  std::vector<bool> arrived_;
  std::array<std::unique_ptr<DeviceMemory>, 3> shared_;
  std::array<std::unique_ptr<PinnedMemory>, 3> shared_staged_;
  std::vector<Slot> slots_;
  std::exception_ptr failure_;
  double seconds_ = 0;
};

}  // namespace tilewright
