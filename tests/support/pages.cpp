// Implements the guarded buffers of the tests by mmap and mprotect; Linux only, like the project.
#include "support/pages.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>

namespace tilewright::testing {
namespace {

std::size_t rounded_up(std::size_t value, std::size_t unit) { return (value + unit - 1) / unit * unit; }

}  // namespace

void fill_guard(void* data, std::size_t size_bytes) {
  auto* bytes = static_cast<unsigned char*>(data);
  for (std::size_t at = 0; at < size_bytes; at += 4) {
    const auto mixed = static_cast<std::uint32_t>(at / 4) * 2654435761u;
    const std::uint32_t word = 0x7ff80000u | (mixed >> 13);
    std::memcpy(bytes + at, &word, std::min<std::size_t>(4, size_bytes - at));
  }
}

std::size_t GuardedPages::page_bytes() {
  static const auto bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}

GuardedPages::GuardedPages(std::size_t slot_bytes, Edge edge, std::size_t slot_count)
    : slot_count_(slot_count) {
  const std::size_t page = page_bytes();
  pages_bytes_ = rounded_up(slot_bytes == 0 ? 1 : slot_bytes, page);
  slot_span_ = pages_bytes_ + page;
  mapped_bytes_ = page + slot_count * slot_span_;
  data_offset_ = edge == Edge::begin ? 0 : pages_bytes_ - slot_bytes;
  void* base = mmap(nullptr, mapped_bytes_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (base == MAP_FAILED) throw std::runtime_error("mmap of a guarded buffer failed");
  base_ = static_cast<std::byte*>(base);
  protect(Access::read_write);
  for (std::size_t slot = 0; slot < slot_count; ++slot) fill_guard(pages(slot), pages_bytes_);
}

GuardedPages::~GuardedPages() {
  if (base_ != nullptr) munmap(base_, mapped_bytes_);
}

void GuardedPages::protect(Access access) const {
  const int flags = access == Access::none   ? PROT_NONE
                    : access == Access::read ? PROT_READ
                                             : PROT_READ | PROT_WRITE;
  for (std::size_t slot = 0; slot < slot_count_; ++slot)
    if (mprotect(pages(slot), pages_bytes_, flags) != 0)
      throw std::runtime_error("mprotect of a guarded buffer failed");
}

bool GuardedPages::locate(const void* address, std::ptrdiff_t* offset) const {
  const auto* byte = static_cast<const std::byte*>(address);
  if (base_ == nullptr || byte < base_ || byte >= base_ + mapped_bytes_) return false;
  const auto from_first = byte - pages(0);
  const auto span = static_cast<std::ptrdiff_t>(slot_span_);
  const std::ptrdiff_t slot =
      from_first < 0 ? 0 : std::min(from_first / span, static_cast<std::ptrdiff_t>(slot_count_) - 1);
  *offset = byte - data(static_cast<std::size_t>(slot < 0 ? 0 : slot));
  return true;
}

SparsePages::SparsePages(std::size_t size_bytes) : size_bytes_(size_bytes) {
  void* base =
      mmap(nullptr, size_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (base != MAP_FAILED) base_ = static_cast<std::byte*>(base);
}

SparsePages::~SparsePages() {
  if (base_ != nullptr) munmap(base_, size_bytes_);
}

}  // namespace tilewright::testing
