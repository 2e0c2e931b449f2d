// Expands a few choices (lengths, padding, broadcast, sources of alpha and beta) to a complete Case with
// leading dimensions and strides. The designs, the random problems and the fuzzer all draw their choices and
// build their cases here.
#pragma once

#include "support/batch.hpp"
#include "support/cases.hpp"

namespace tilewright::testing {

// The forms in which alpha and beta are given.
enum class ScalarChoice : std::uint8_t { zero, one, general, per_problem, mixed_zero };
inline constexpr std::array scalar_choices{ScalarChoice::zero, ScalarChoice::one, ScalarChoice::general,
                                           ScalarChoice::per_problem, ScalarChoice::mixed_zero};

struct Choices {
  DType dtype = DType::f64;
  Layout layout = Layout::strided;
  Op op_a = Op::none;
  Op op_b = Op::none;
  cases::Size size;
  std::int64_t ld_padding =
      0;  // elements beyond the packed leading dimension; A gets one more when not 0, B two
  std::int64_t stride_padding = 0;  // elements between problems, likewise
  bool broadcast_a = false;         // strided only
  bool broadcast_b = false;
  bool row_bands = false;        // strided only: the problems are bands of rows of larger matrices
  std::int64_t block = 0;        // block_interleaved only
  std::int64_t batch_count = 1;  // count of the innermost level
  // For strided batches except row bands: the outer levels, in one of 6 orders in memory, and the levels in
  // which A and B are broadcast, a bit each from the innermost on.
  std::int64_t outer_count = 1;
  std::int64_t outermost_count = 1;
  int level_order = 0;
  unsigned shared_a = 0;
  unsigned shared_b = 0;
  ScalarChoice alpha = ScalarChoice::one;
  ScalarChoice beta = ScalarChoice::one;
  Data data = Data::exact;
  Edge edge = Edge::end;
  std::uint64_t seed = 1;
};

Case make_case(const Choices& choices);

}  // namespace tilewright::testing
