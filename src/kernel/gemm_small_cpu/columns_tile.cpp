// Cutting C into row pieces and register blocks, and the register budget that follows.
#include "kernel/gemm_small_cpu/columns_tile.hpp"

#include <algorithm>
#include <bit>

namespace tilewright::columns {
namespace {

int width_for(std::int64_t lanes, int real_bytes) {
  const auto bits = lanes * real_bytes * 8;
  return bits <= 128 ? 128 : bits <= 256 ? 256 : 512;
}

// A power-of-two number of lanes has exact loads and stores (4, 8, 16, 32 or 64 bytes).
RowPiece piece_of(std::int64_t first, std::int64_t lanes, int real_bytes) {
  return {first, static_cast<int>(lanes), width_for(lanes, real_bytes),
          !std::has_single_bit(std::uint64_t(lanes))};
}

void add_tail(std::vector<RowPiece>& pieces, std::int64_t rows, std::int64_t done, Tail tail,
              int real_bytes) {
  const std::int64_t rest = rows - done;
  if (rest == 0) return;
  if (tail == Tail::mask || tail == Tail::split) {
    pieces.push_back(piece_of(done, rest, real_bytes));
    return;
  }
  const auto covering = std::int64_t(std::bit_ceil(std::uint64_t(rest)));
  if (tail == Tail::overlap && covering <= rows) {
    pieces.push_back(piece_of(rows - covering, covering, real_bytes));
    return;
  }
  const auto largest = std::int64_t(std::bit_floor(std::uint64_t(rest)));
  pieces.push_back(piece_of(done, largest, real_bytes));
  add_tail(pieces, rows, done + largest, tail, real_bytes);
}

std::vector<RowPiece> row_pieces(std::int64_t rows, int real_bytes, const GemmSmallCpuConfig& config) {
  std::vector<RowPiece> pieces;
  const std::int64_t lanes = config.vector_bits / 8 / real_bytes;
  std::int64_t done = 0;
  for (; done + lanes <= rows; done += lanes) pieces.push_back(piece_of(done, lanes, real_bytes));
  add_tail(pieces, rows, done, config.tail, real_bytes);
  return pieces;
}

// A masked store occupies its full width in the store buffer: columns of the next C that it covers wait.
int columns_behind_mask(const Tile& tile, const GemmProblem& problem, Tail tail) {
  if (!tile.masked || tail == Tail::split) return 1;
  const RowPiece& last = tile.pieces.back();
  const std::int64_t beyond = last.bits / 8 / tile.real_bytes - last.lanes;
  const std::int64_t column = problem.ldc * tile.parts;
  return static_cast<int>(std::min<std::int64_t>((beyond + column - 1) / column, problem.n));
}

// Longer straight-line code no longer fits the micro-op cache.
constexpr std::int64_t straight_code_limit = 2000;

std::int64_t block_instructions(const Tile& tile, const GemmProblem& problem,
                                const GemmSmallCpuConfig& config, int cols) {
  std::int64_t steps = problem.k;
  if (config.k_unroll > 0 && config.k_unroll < problem.k)
    steps = config.k_unroll + problem.k % config.k_unroll;
  std::int64_t total = 0;
  for (const int rows : tile.row_blocks)
    total += steps * (rows * cols * tile.parts + rows + cols * tile.parts) +
             (2 + config.k_sets) * rows * cols * tile.parts;
  return total;
}

// Fills loop_columns and code_instructions. Column blocks differ by at most one column: looped, two bodies.
void choose_loops(Tile& tile, const GemmProblem& problem, const GemmSmallCpuConfig& config) {
  std::int64_t straight = 0;
  for (const int cols : tile.col_blocks) straight += block_instructions(tile, problem, config, cols);
  tile.loop_columns =
      tile.col_blocks.size() > 2 && straight > straight_code_limit && problem.sums == Sums::none;
  tile.code_instructions = straight;
  if (!tile.loop_columns) return;
  tile.code_instructions = block_instructions(tile, problem, config, tile.col_blocks.front());
  if (tile.col_blocks.back() != tile.col_blocks.front())
    tile.code_instructions += block_instructions(tile, problem, config, tile.col_blocks.back());
}

}  // namespace

std::vector<int> even_split(std::int64_t total, int limit) {
  if (total <= 0) return {};
  const auto count = (total + limit - 1) / limit;
  std::vector<int> parts;
  for (std::int64_t i = 0; i < count; ++i)
    parts.push_back(static_cast<int>(total / count + (i < total % count)));
  return parts;
}

Tile make_tile(const GemmProblem& problem, const GemmSmallCpuConfig& config) {
  Tile tile;
  const bool complex = is_complex(problem.dtype);
  tile.element_bytes = static_cast<int>(size_bytes(problem.dtype));
  tile.parts = complex ? 2 : 1;
  tile.real_bytes = tile.element_bytes / tile.parts;
  tile.lane_rows = problem.m * tile.parts;
  tile.pieces = row_pieces(tile.lane_rows, tile.real_bytes, config);
  tile.row_blocks = even_split(static_cast<std::int64_t>(tile.pieces.size()), std::max(1, config.mr));
  tile.col_blocks = even_split(problem.n, std::max(1, config.nr));
  tile.packed_a = problem.op_a != Op::none;
  const std::int64_t line = 64 / tile.element_bytes;
  tile.packed_lda = tile.packed_a ? (problem.m + line - 1) / line * line : 0;
  tile.register_count = config.isa == Isa::avx512 ? 32 : 16;
  for (const auto& piece : tile.pieces) tile.masked |= piece.masked;
  choose_loops(tile, problem, config);
  if (config.c_load == CLoad::ahead) tile.ahead_columns = columns_behind_mask(tile, problem, config.tail);
  if (!tile.col_blocks.empty()) tile.ahead_columns = std::min(tile.ahead_columns, tile.col_blocks.front());
  return tile;
}

bool embedded_broadcast(const GemmSmallCpuConfig& config, int block_pieces) {
  return config.isa == Isa::avx512 && config.hold == Hold::a && block_pieces == 1;
}

namespace {

int largest(const std::vector<int>& sizes) {
  return sizes.empty() ? 1 : *std::max_element(sizes.begin(), sizes.end());
}

int kept_registers(const Tile& tile, const GemmSmallCpuConfig& config) {
  const int mask = tile.masked && config.isa == Isa::avx2 ? 1 : 0;
  return mask + tile.ahead_columns * (tile.row_blocks.empty() ? 0 : tile.row_blocks.front());
}

}  // namespace

int column_registers(const Tile& tile, const GemmProblem& problem, const GemmSmallCpuConfig& config,
                     int rows) {
  const int scalars = (problem.alpha == Scalar::general ? 1 : 0) + (problem.beta == Scalar::general ? 1 : 0);
  const int work = (tile.parts == 1 ? 1 : 3) + scalars * tile.parts;
  return std::max(rows * tile.parts * config.k_sets, rows * tile.parts + work);
}

int loop_registers(const Tile& tile, const GemmProblem& problem, const GemmSmallCpuConfig& config) {
  const int rows = largest(tile.row_blocks);
  const int cols = largest(tile.col_blocks);
  const int accumulators = rows * cols * tile.parts * config.k_sets;
  const int temporaries = config.isa == Isa::avx512 ? 2 : 1;
  if (config.hold == Hold::all_a)
    return rows * static_cast<int>(problem.k) + 2 * column_registers(tile, problem, config, rows) +
           temporaries + kept_registers(tile, config);
  const int operands = config.hold == Hold::a ? rows + (embedded_broadcast(config, rows) ? 0 : temporaries)
                                              : cols * tile.parts + temporaries;
  return accumulators + operands + kept_registers(tile, config);
}

int update_registers(const Tile& tile, const GemmProblem& problem, const GemmSmallCpuConfig& config) {
  const int accumulators = largest(tile.row_blocks) * largest(tile.col_blocks) * tile.parts;
  const int scalars = (problem.alpha == Scalar::general ? 1 : 0) + (problem.beta == Scalar::general ? 1 : 0);
  // Real: one register for C. Complex: the constant one, C and a swapped copy.
  const int work = tile.parts == 1 ? 1 : 3;
  return accumulators + work + scalars * tile.parts + kept_registers(tile, config);
}

}  // namespace tilewright::columns
