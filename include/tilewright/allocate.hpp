/// @file
/// Host memory for matrices, placed on memory nodes or pinned for GPUs. Calls accept plain allocations too.
/// Placement only matters on machines with more than one NUMA node: one block for a batch, 64-byte aligned,
/// with its pages on the nodes whose cores will work on them. Pinned memory only matters for products of host
/// operands on GPUs, which stream from it at the full rate of the link.
/// @par Memory The returned objects own the memory and free it when they are destroyed.
/// @par Threads The functions may be called by any thread; one object may be used by several threads as long
/// as
///   none moves or destroys it.
/// @par Errors The functions throw Error as their comments say; accessors throw nothing.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

namespace tilewright {
inline namespace v0_2 {

/// The nodes that get the pages. first_touch: the node of the thread that multiplies them, if threads are
/// bound to cores (OMP_PROC_BIND). interleave: round robin over the nodes. per_node: each node gets one
/// contiguous run of problems, in proportion to its cores.
enum class Placement : std::uint8_t { first_touch, interleave, per_node };

/// Owns one block of host memory; allocate_batch() makes one.
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

  /// Return the address, as void* or T*, null if empty; it is valid as long as the object.
  void* data() const noexcept { return data_; }
  template <class T>
  T* as() const noexcept {
    return static_cast<T*>(data_);
  }
  /// Return the size, and the placement that was asked for.
  std::int64_t bytes() const noexcept { return bytes_; }
  Placement placement() const noexcept { return placement_; }
  /// Returns "" if the pages were placed as asked, else the operating system's reason; the memory is usable
  /// all the same.
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

/// Returns one zero-filled block of bytes_per_problem * batch_count bytes for `threads` threads to work on
/// (0: OpenMP's default). Pages are the unit of placement, so the page at a border lies on one of its two
/// nodes.
/// @throws Error invalid_argument for a negative argument or a product past 2^63, out_of_memory.
BatchBuffer allocate_batch(std::int64_t bytes_per_problem, std::int64_t batch_count,
                           Placement placement = Placement::first_touch, int threads = 0);

/// Host memory that the copy engines of all GPUs reach without staging. Copies share it: the last one frees
/// allocated memory, or unpins registered memory.
class PinnedBlock {
 public:
  PinnedBlock() = default;

  /// Return the address, as void* or T*, null if empty, and the size.
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

/// Allocates pinned memory, uninitialised. It takes some 0.1 s for each GiB: keep blocks that are used again.
/// @throws Error invalid_argument for bytes below 1, out_of_memory naming the bytes, unsupported if there is
/// no
///   GPU.
PinnedBlock allocate_pinned(std::int64_t bytes);

/// Pins memory in place until the last copy of the result is destroyed; it takes about as long as copying it.
/// The memory stays the caller's and must live as long.
/// @throws Error as allocate_pinned(), and invalid_argument for a null address and for memory that is pinned
///   already.
PinnedBlock register_pinned(void* data, std::int64_t bytes);

}  // namespace v0_2
}  // namespace tilewright
