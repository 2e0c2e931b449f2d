// The operands of a distributed product without their type, and the checks of its arguments.
#pragma once

#include <cstdint>

#include "tilewright/multinode.hpp"

namespace tilewright {

// A process's place in its grid.
struct GridPlace {
  ProcessGrid grid{};
  std::int64_t row = 0, col = 0;
};

struct DistributedOperand {
  const char* name = "";
  void* data = nullptr;
  std::int64_t rows = 0, cols = 0, block_rows = 0, block_cols = 0, ld = 0, source_row = 0, source_col = 0;
};

struct DistributedProduct {
  DType dtype = DType::f64;
  Op op_a = Op::none, op_b = Op::none;
  const void* alpha = nullptr;  // on the host
  const void* beta = nullptr;
  DistributedOperand a{}, b{}, c{};
};

// Size of op(X).
std::int64_t rows_of(Op op, const DistributedOperand& x);
std::int64_t cols_of(Op op, const DistributedOperand& x);

// Size of a process's part.
std::int64_t local_rows(const GridPlace& place, const DistributedOperand& x);
std::int64_t local_cols(const GridPlace& place, const DistributedOperand& x);
// Returns the bytes from the first element of the part to the end of its last; 0 if it is empty.
std::int64_t local_bytes(const GridPlace& place, const DistributedOperand& x, DType dtype);

// Returns the place of `rank` among `ranks`. Throws Error(invalid_argument) naming the invalid field of the
// grid.
GridPlace place_of(const ProcessGrid& grid, int rank, int ranks);

// Throws Error(invalid_argument) naming the argument and its value; checks addresses only for null.
void validate(const GridPlace& place, const DistributedProduct& product);

}  // namespace tilewright
