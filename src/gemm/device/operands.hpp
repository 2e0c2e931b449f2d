// Operands in device memory as far as the host can judge them: alignment, ranges that certainly share
// elements and, when asked for, whose memory it is.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/problem.hpp"
#include "device/gpu/gpu.hpp"

namespace tilewright {

// Device allocations begin at multiples of 256, and whole lines of 128 bytes are the most that kernels gain
// from.
inline constexpr int most_align_bytes = 128;

// Operands that are arrays of addresses.
inline bool has_pointers(const GemmProblem& p) {
  return p.layout == Layout::pointer || p.layout == Layout::variable;
}

// What all of the addresses are multiples of: 128, else 16, else the size of an element, so that few kernels
// are made of one shape. Null addresses count as aligned. Of a pointer batch the matrices are meant, of which
// the host knows nothing.
inline int common_alignment(const GemmProblem& p, const void* a, const void* b, const void* c) {
  const int size = static_cast<int>(size_bytes(p.dtype));
  if (has_pointers(p)) return size;
  const auto bits = reinterpret_cast<std::uintptr_t>(a) | reinterpret_cast<std::uintptr_t>(b) |
                    reinterpret_cast<std::uintptr_t>(c);
  for (const int bytes : {most_align_bytes, 16})
    if (bits % static_cast<unsigned>(bytes) == 0) return bytes;
  return size;
}

// The alignment that a plan is made for where the options name none.
inline int usual_alignment(const GemmProblem& p) {
  return has_pointers(p) ? static_cast<int>(size_bytes(p.dtype)) : most_align_bytes;
}

// What plans must be made for, the usual one first, so that every call finds one whose addresses are
// multiples of `asked` bytes as far as the options state it (0: nothing is known of them): those that
// common_alignment() may give.
inline std::vector<int> alignments_to_prepare(const GemmProblem& p, int asked) {
  if (p.location != Location::device) return {asked};
  const int size = static_cast<int>(size_bytes(p.dtype));
  std::vector<int> all{asked == 0 ? usual_alignment(p) : asked};
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
  const char* alignment_reason() const;
  void check_one(const char* name, const void* address, std::int64_t bytes) const;
  void check_apart(const char* name, const void* address, std::int64_t bytes, bool dense,
                   const void* c) const;
  void check_sizes(const VariableSizes& sizes) const;

  std::int64_t a_bytes_, b_bytes_, c_bytes_;  // from the first to behind the last element
  bool a_dense_, b_dense_, c_dense_;
  bool pointers_, sizes_vary_;
  int align_bytes_, size_bytes_;
  const Gpu* gpu_;
};

}  // namespace tilewright
