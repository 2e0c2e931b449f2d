// The host's checks of operands in device memory: alignment, certain overlaps, on request the owner.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/problem.hpp"
#include "device/gpu/gpu.hpp"

namespace tilewright {

// Device allocations begin at multiples of 256, and kernels gain from lines of 128 bytes at most.
inline constexpr int most_align_bytes = 128;

// Operands that are arrays of addresses.
inline bool has_pointers(const GemmProblem& p) {
  return p.layout == Layout::pointer || p.layout == Layout::variable;
}

// Returns the common alignment of all addresses: 128, else 16, else the size of an element, so that few
// kernels are made per shape. Null addresses count as aligned. For a pointer batch it is that of its
// matrices, which the host does not know.
inline int common_alignment(const GemmProblem& p, const void* a, const void* b, const void* c) {
  const int size = static_cast<int>(size_bytes(p.dtype));
  if (has_pointers(p)) return size;
  const auto bits = reinterpret_cast<std::uintptr_t>(a) | reinterpret_cast<std::uintptr_t>(b) |
                    reinterpret_cast<std::uintptr_t>(c);
  for (const int bytes : {most_align_bytes, 16})
    if (bits % static_cast<unsigned>(bytes) == 0) return bytes;
  return size;
}

// Returns the alignment that a plan is made for if the options state none.
inline int default_alignment(const GemmProblem& p) {
  return has_pointers(p) ? static_cast<int>(size_bytes(p.dtype)) : most_align_bytes;
}

// Returns the alignments to make plans for, the default first, so that every call finds a plan: those that
// common_alignment() may return for addresses that are multiples of `asked` bytes (0: unknown).
inline std::vector<int> alignments_to_prepare(const GemmProblem& p, int asked) {
  if (p.location != Location::device) return {asked};
  const int size = static_cast<int>(size_bytes(p.dtype));
  std::vector<int> all{asked == 0 ? default_alignment(p) : asked};
  const auto add = [&](int bytes) {
    if (std::find(all.begin(), all.end(), bytes) == all.end()) all.push_back(bytes);
  };
  if (has_pointers(p)) {
    add(size);
    return all;
  }
  add(most_align_bytes);
  if (asked < most_align_bytes) add(16);
  if (asked < 16) add(size);
  return all;
}

class GpuOperandCheck {
 public:
  // `gpu` is null, or asked about every address.
  GpuOperandCheck(const GemmProblem& problem, int align_bytes, const Gpu* gpu);

  // Throws Error(invalid_argument) naming the operand, its address and what is wrong.
  void check(const Operands& operands, bool reads_ab) const;

 private:
  struct Range {
    std::int64_t bytes;  // from the first element to the end of the last
    bool dense;
  };
  const char* alignment_reason() const;
  void check_one(const char* name, const void* address, std::int64_t bytes) const;
  void check_apart(const char* name, const void* address, const Range& range, const void* c) const;

  Range a_, b_, c_;
  bool pointers_, sizes_vary_;
  int align_bytes_, size_bytes_;
  const Gpu* gpu_;
};

}  // namespace tilewright
