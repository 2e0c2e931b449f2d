// The geometry of an interleaved problem: problems per vector, byte steps, slices per block, and register
// blocks. Shared by the space's constraints and the generator.
#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "kernel/gemm_small_cpu/kernel.hpp"

namespace tilewright {

// One operand of a slice (the vectors of equal elements of `lanes` neighbouring problems), after op.
struct InterleavedOperand {
  std::int64_t row_step = 0;     // bytes from element (i, j) to (i + 1, j)
  std::int64_t col_step = 0;     // bytes from element (i, j) to (i, j + 1)
  std::int64_t block_bytes = 0;  // from a block to the next
  std::int64_t vectors = 0;      // pitches that a slice spans, for prefetches
};

struct InterleavedGeometry {
  InterleavedGeometry(const GemmProblem& problem, int vector_bits);

  bool complex = false;
  bool single = false;  // components are f32
  int vector_bytes = 0;
  int element_bytes = 0;
  std::int64_t lanes = 0;      // problems per vector
  std::int64_t block = 0;      // problems per block
  std::int64_t slices = 0;     // whole vectors per block
  std::int64_t pitch = 0;      // bytes between neighbouring elements of one problem
  InterleavedOperand a, b, c;  // a: rows i, columns p; b: rows p, columns j
};

// `count` register blocks of `size` rows (or columns) each.
struct Strip {
  int size = 0;
  int count = 0;
};
// Deals `total` rows evenly to the fewest blocks of at most `at_most` rows: sizes differ by at most one, so
// that there are at most two different register blocks.
std::array<Strip, 2> deal(std::int64_t total, int at_most);

// Returns the vector registers that the config's register block needs; the other returns their number.
int interleaved_registers(const GemmSmallCpuConfig& config, bool complex);
int vector_registers(Isa isa);

// The generator (x86-64 only).
std::shared_ptr<const GemmSmallCpuKernel> generate_interleaved(const GemmProblem& problem,
                                                               const GemmSmallCpuConfig& config);

}  // namespace tilewright
