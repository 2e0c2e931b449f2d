// The internal side of the layout conversions: their costs, when they pay, and the copy of one group of
// problems. The public functions are in tilewright/layout.hpp; bench and tune measure the costs.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "core/problem.hpp"
#include "kernel/layout/config.hpp"
#include "kernel/space.hpp"
#include "tilewright/layout.hpp"

namespace tilewright {

// Returns the config used if nothing was measured: one 64-byte vector of problems, which is among the best in
// every block sweep.
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
template <>
struct FieldList<LayoutCosts> {
  using C = LayoutCosts;
  static constexpr auto value =
      std::make_tuple(field("dtype", &C::dtype), field("m", &C::m), field("n", &C::n), field("k", &C::k),
                      field("from", &C::from), field("block", &C::block), field("residency", &C::residency),
                      field("convert_in_s", &C::convert_in_s), field("convert_out_s", &C::convert_out_s),
                      field("direct_s", &C::direct_s), field("interleaved_s", &C::interleaved_s));
};

// Returns how many multiplications the converted data must serve before converting pays; nothing if it never
// does because the interleaved kernel is not faster.
std::optional<std::int64_t> conversion_reuse_threshold(const LayoutCosts& costs);

// Returns the record whose size is nearest to the problem's among those of its type, layout and residency;
// among equally near ones the block that costs least to convert to, multiply in and convert from. Null if
// there is none.
const LayoutCosts* nearest_costs(std::span<const LayoutCosts> table, const GemmProblem& problem);

// Returns one sentence for `explain`: the threshold and its inputs, or why there is none.
std::string explain_conversion(const GemmProblem& problem, const LayoutCosts* costs);

// Copies the matrices of one group of neighbouring problems. `matrices` holds one address per problem;
// `slots` is the place of the group's first problem in element (0, 0) of its block.
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
