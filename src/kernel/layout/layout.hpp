// Internals of the layout conversions (tilewright/layout.hpp): their costs, and the copy of a group.
#pragma once

#include <algorithm>
#include <optional>
#include <span>
#include <string>

#include "core/problem.hpp"
#include "kernel/space.hpp"
#include "tilewright/layout.hpp"

namespace tilewright {

// The config of conversions: the block. How they copy is not a choice.
struct LayoutConfig {
  std::int64_t block = 8;  // problems per block

  friend bool operator==(const LayoutConfig&, const LayoutConfig&) = default;
};

TILEWRIGHT_FIELDS(LayoutConfig, block);

// The config without measurements: one 64-byte vector of problems, among the best in every sweep.
LayoutConfig layout_default(DType dtype);

// Returns the blocks worth producing.
Space<LayoutConfig> layout_space(DType dtype);

// Measured costs of one size, in seconds per problem and thread. One record of the family "layout".
struct LayoutCosts {
  DType dtype = DType::f64;
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  Layout from = Layout::strided;  // or pointer
  std::int64_t block = 0;
  Residency residency = Residency::cold;
  double convert_in_s = 0;   // A, B and, if it is read, C
  double convert_out_s = 0;  // C
  double direct_s = 0;       // multiplying in the layout `from`
  double interleaved_s = 0;  // multiplying interleaved data

  friend bool operator==(const LayoutCosts&, const LayoutCosts&) = default;
};
TILEWRIGHT_FIELDS(LayoutCosts, dtype, m, n, k, from, block, residency, convert_in_s, convert_out_s, direct_s,
                  interleaved_s);

// Returns the multiplications that pay a conversion; nothing if the interleaved kernel is not faster.
std::optional<std::int64_t> conversion_reuse_threshold(const LayoutCosts& costs);

// The record of the type, layout and residency with the nearest size, then the cheapest block; else null.
const LayoutCosts* nearest_costs(std::span<const LayoutCosts> table, const GemmProblem& problem);

// Returns one sentence for `explain`: the threshold and its inputs, or why there is none.
std::string explain_conversion(const GemmProblem& problem, const LayoutCosts* costs);

// Returns the problems from `first` on, at most `most`, of an interleaved batch of `batch` that end with a
// block, or lie within one: a part of the batch is itself an interleaved one where it begins with a block,
// and one block where it does not.
inline std::int64_t problems_in_blocks(std::int64_t first, std::int64_t most, std::int64_t batch,
                                       std::int64_t block) {
  const std::int64_t into = first % block;
  if (into == 0 && most >= batch - first) return batch - first;
  if (into == 0 && most >= block) return most - most % block;
  return std::min({most, batch - first, block - into});
}

// Copies the matrices of neighbouring problems. `matrices` holds one address per problem; `slots` is the
// place of the first problem in element (0, 0) of its block.
struct GroupCopy {
  int element_bytes = 0;
  std::int64_t rows = 0;  // of one run: a column, or the whole matrix if both sides are packed
  std::int64_t runs = 0;
  std::int64_t matrix_step = 0;  // bytes from run to run in a matrix
  std::int64_t slots_step = 0;   // bytes from run to run in the block
  std::int64_t pitch = 0;        // bytes between the neighbouring elements of one problem
  std::int64_t count = 0;        // problems
  std::int64_t slot_count = 0;   // slots to fill; those beyond count become zero
};
void interleave_group(const GroupCopy& copy, const void* const* matrices, void* slots);
void deinterleave_group(const GroupCopy& copy, const void* slots, void* const* matrices);

}  // namespace tilewright
