// Host memory for matrices, placed on memory nodes or pinned for GPUs. A plain allocation works with every
// call of the library too. Placement only matters on machines with more than one NUMA node: one block for a
// batch, 64-byte aligned, with its pages on the nodes whose cores will work on them. Pinned memory only
// matters for products of host operands on GPUs, which stream from it at the full rate of the link.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

namespace tilewright {
inline namespace v0_2 {

// Says where the pages go. first_touch: to the node of the thread that multiplies them, if threads stay where
// they are (OMP_PROC_BIND); interleave: round robin over the nodes; per_node: each node gets one contiguous
// run of problems, as many as its share of the cores.
enum class Placement : std::uint8_t { first_touch, interleave, per_node };

// Owns the block; zero-filled when it comes from allocate_batch.
class BatchBuffer {
 public:
  BatchBuffer() = default;
  ~BatchBuffer() { release(); }
  BatchBuffer(BatchBuffer&& other) noexcept { swap(other); }
  BatchBuffer& operator=(BatchBuffer&& other) noexcept {
    BatchBuffer(std::move(other)).swap(*this);
    return *this;
  }
  BatchBuffer(const BatchBuffer&) = delete;
  BatchBuffer& operator=(const BatchBuffer&) = delete;

  void* data() const noexcept { return data_; }
  template <class T>
  T* as() const noexcept {
    return static_cast<T*>(data_);
  }
  std::int64_t bytes() const noexcept { return bytes_; }
  Placement placement() const noexcept { return placement_; }
  // "" when the pages were placed as asked; else why the operating system did not (the memory is usable all
  // the same).
  const std::string& note() const noexcept { return note_; }

 private:
  friend BatchBuffer allocate_batch(std::int64_t, std::int64_t, Placement, int);
  void release() noexcept;
  void swap(BatchBuffer& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    std::swap(mapped_bytes_, other.mapped_bytes_);
    std::swap(placement_, other.placement_);
    std::swap(note_, other.note_);
  }

  void* data_ = nullptr;
  std::int64_t bytes_ = 0;
  std::int64_t mapped_bytes_ = 0;
  Placement placement_ = Placement::first_touch;
  std::string note_;
};

// One zero-filled block of bytes_per_problem * batch_count bytes. threads: how many will work on it; 0 =
// OpenMP's default. Pages are the unit of placement, so the page at a border lies on one of its two nodes.
// Throws Error(invalid_argument) for a negative argument or a product past 2^63, Error(out_of_memory).
BatchBuffer allocate_batch(std::int64_t bytes_per_problem, std::int64_t batch_count,
                           Placement placement = Placement::first_touch, int threads = 0);

// Host memory that the copy engines of all GPUs reach without staging. Owns it, or, where it was registered,
// keeps it pinned.
class PinnedBlock {
 public:
  PinnedBlock() = default;

  void* data() const noexcept { return data_.get(); }
  template <class T>
  T* as() const noexcept {
    return static_cast<T*>(data_.get());
  }
  std::int64_t bytes() const noexcept { return bytes_; }

 private:
  friend PinnedBlock allocate_pinned(std::int64_t);
  friend PinnedBlock register_pinned(void*, std::int64_t);
  PinnedBlock(std::shared_ptr<void> data, std::int64_t bytes) : data_(std::move(data)), bytes_(bytes) {}

  std::shared_ptr<void> data_;
  std::int64_t bytes_ = 0;
};

// Not initialised. Allocating takes some 0.1 s for each GiB: keep what is used again. Throws
// Error(invalid_argument) for bytes below 1, Error(out_of_memory) naming the bytes, Error(unsupported) where
// there is no GPU.
PinnedBlock allocate_pinned(std::int64_t bytes);

// Pins memory as it lies, which takes about as long as copying it, until the last copy of the result is gone.
// The memory stays the caller's and must live as long. Throws likewise, and Error(invalid_argument) for a
// null address and for memory that is pinned already.
PinnedBlock register_pinned(void* data, std::int64_t bytes);

}  // namespace v0_2
}  // namespace tilewright
