// How long the parts of a factorization in device memory take, roughly: what may be queued beside what is
// decided by it beforehand, so that equal calls queue the same. Results never depend on it.
#pragma once

#include <cstdint>

#include "wisdom/node_model.hpp"

namespace tilewright {

// Of a panel kernel as docs/lu.md has them: per column, and beside its columns with the launches that follow.
struct LuPace {
  GemmTime product;  // of operands in the GPU's memory
  double column_s = 0.8e-6, column_row_s = 4e-11;
  double panel_start_s = 25e-6, block_start_s = 60e-6;

  double block_s(std::int64_t rows, std::int64_t columns, int width) const {
    const double panels = double((columns + width - 1) / width);
    return double(columns) * (column_s + column_row_s * double(rows)) + panels * panel_start_s +
           block_start_s;
  }
};

}  // namespace tilewright
