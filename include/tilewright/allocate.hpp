// Memory for a batch of matrices on machines with several memory nodes: one block, 64-byte aligned, with its
// pages on the nodes whose cores will work on them. A plain allocation works with every call of the library
// too; placement only matters on machines with more than one NUMA node.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

namespace tilewright {

// Where the pages go. first_touch: to the node of the thread that multiplies them, if threads stay where they
// are (OMP_PROC_BIND); interleave: round robin over the nodes; per_node: each node gets one contiguous run of
// problems, as many as its share of the cores.
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

}  // namespace tilewright
