// The division of C into register blocks by the columns kernels: pure functions of problem and config.
#pragma once

#include <cstdint>
#include <vector>

#include "core/problem.hpp"
#include "kernel/gemm_small_cpu/config.hpp"

namespace tilewright::columns {

// Consecutive rows of one column of C that share a vector register, in real lanes (a complex row is two).
struct RowPiece {
  std::int64_t first = 0;  // first lane of the column
  int lanes = 0;           // lanes that belong to the matrix
  int bits = 0;            // register width used: 128, 256 or 512
  bool masked = false;     // loads and stores need a lane mask
};

// Sizes that follow from problem and config alone.
struct Tile {
  int real_bytes = 8;            // bytes of a real lane
  int element_bytes = 8;         // bytes of an element (two lanes when complex)
  int parts = 1;                 // accumulators per lane: 1 real, 2 complex (A * re(b), A * im(b))
  std::int64_t lane_rows = 0;    // m in lanes
  std::vector<RowPiece> pieces;  // all rows, top to bottom
  std::vector<int> row_blocks;   // pieces per register block
  std::vector<int> col_blocks;   // columns per register block, larger ones first
  bool packed_a = false;         // op(A) is transposed into scratch before the k loop
  std::int64_t packed_lda = 0;   // leading dimension of that scratch, elements
  int ahead_columns = 0;         // columns of the next C loaded before this one is stored
  int register_count = 32;
  bool masked = false;                 // some piece is masked
  std::int64_t code_instructions = 0;  // estimated instructions
  bool loop_columns =
      false;  // equal column blocks share code in a loop: straight-line code would be too long
};

inline constexpr std::int64_t code_instruction_limit = 12000;

Tile make_tile(const GemmProblem& problem, const GemmSmallCpuConfig& config);

// Registers the k loop and the update of C need for the largest block.
int loop_registers(const Tile& tile, const GemmProblem& problem, const GemmSmallCpuConfig& config);
int update_registers(const Tile& tile, const GemmProblem& problem, const GemmSmallCpuConfig& config);

// Registers for one column of C while all of A is held: its accumulators or the update's scratch.
int column_registers(const Tile& tile, const GemmProblem& problem, const GemmSmallCpuConfig& config,
                     int rows);

// True if B is multiplied from memory (embedded broadcast) instead of a register.
bool embedded_broadcast(const GemmSmallCpuConfig& config, int block_pieces);

// Splits `total` into the fewest parts of at most `limit`, as even as possible, larger ones first.
std::vector<int> even_split(std::int64_t total, int limit);

}  // namespace tilewright::columns
