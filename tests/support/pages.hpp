// Memory between inaccessible pages: a buffer that begins or ends exactly at an inaccessible page, so that
// code without sanitizer checks faults on the first byte out of bounds. It handles bytes only, no matrices.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace tilewright::testing {

// The end of the buffer that lies at an inaccessible page. The other end has up to a page of guard bytes
// before the next one.
enum class Edge : std::uint8_t { begin, end };

// Fills with 32-bit words that make every float and double a quiet NaN and that differ from place to place.
void fill_guard(void* data, std::size_t size_bytes);

// Holds slot_count buffers of slot_bytes each, every one between inaccessible pages and filled with guard
// words.
class GuardedPages {
 public:
  GuardedPages() = default;
  GuardedPages(std::size_t slot_bytes, Edge edge, std::size_t slot_count = 1);
  ~GuardedPages();
  GuardedPages(GuardedPages&& other) noexcept { swap(other); }
  GuardedPages& operator=(GuardedPages&& other) noexcept {
    swap(other);
    return *this;
  }

  std::byte* data(std::size_t slot = 0) const { return pages(slot) + data_offset_; }
  std::size_t slot_count() const { return slot_count_; }

  // Returns the accessible pages around a slot, guard bytes included.
  std::byte* pages(std::size_t slot) const { return base_ + page_bytes() + slot * slot_span_; }
  std::size_t pages_bytes() const { return pages_bytes_; }

  enum class Access : std::uint8_t { none, read, read_write };
  void protect(Access access) const;

  // True if the address lies in this mapping, its inaccessible pages included; then *offset is its distance
  // from the begin of the nearest slot's buffer.
  bool locate(const void* address, std::ptrdiff_t* offset) const;

  static std::size_t page_bytes();

 private:
  void swap(GuardedPages& other) noexcept {
    std::swap(base_, other.base_);
    std::swap(mapped_bytes_, other.mapped_bytes_);
    std::swap(pages_bytes_, other.pages_bytes_);
    std::swap(slot_span_, other.slot_span_);
    std::swap(data_offset_, other.data_offset_);
    std::swap(slot_count_, other.slot_count_);
  }

  std::byte* base_ = nullptr;
  std::size_t mapped_bytes_ = 0;
  std::size_t pages_bytes_ = 0;  // accessible bytes of one slot
  std::size_t slot_span_ = 0;    // from one slot's pages to the next's
  std::size_t data_offset_ = 0;
  std::size_t slot_count_ = 0;
};

// Address space without memory: pages are allocated when touched. Empty if the system refuses.
class SparsePages {
 public:
  explicit SparsePages(std::size_t size_bytes);
  ~SparsePages();
  SparsePages(const SparsePages&) = delete;
  SparsePages& operator=(const SparsePages&) = delete;

  std::byte* data() const { return base_; }
  explicit operator bool() const { return base_ != nullptr; }

 private:
  std::byte* base_ = nullptr;
  std::size_t size_bytes_ = 0;
};

}  // namespace tilewright::testing
