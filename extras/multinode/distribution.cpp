// Computes a process's place in a grid and its part of a matrix, and checks whether operands agree.
#include "distribution.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "core/fields.hpp"
#include "core/input/checked.hpp"
#include "core/refuse.hpp"
#include "local_columns.hpp"

namespace tilewright {

template <>
struct EnumNames<RankOrder> {
  static constexpr std::array value{std::pair{RankOrder::column_major, "column_major"},
                                    std::pair{RankOrder::row_major, "row_major"}};
};

namespace {

// Names the field as "a.block_rows", with its value.
void refuse_part(const DistributedOperand& x, const char* field, std::int64_t value, const std::string& why) {
  const std::string name = fmt::format("{}.{}", x.name, field);
  refuse_argument(name, fmt::format("{} = {} {}", name, value, why));
}

void check_source(const DistributedOperand& x, const char* field, std::int64_t source,
                  std::int64_t processes) {
  if (source < 0 || source >= processes)
    refuse_part(x, field, source, fmt::format("is not in a grid of {}", processes));
}

void validate_part(const GridPlace& place, const DistributedOperand& x, DType dtype) {
  refuse_negative(fmt::format("{}.rows", x.name).c_str(), x.rows);
  refuse_negative(fmt::format("{}.cols", x.name).c_str(), x.cols);
  refuse_outside(fmt::format("{}.block_rows", x.name), x.block_rows, 1);
  refuse_outside(fmt::format("{}.block_cols", x.name), x.block_cols, 1);
  check_source(x, "source_row", x.source_row, place.grid.rows);
  check_source(x, "source_col", x.source_col, place.grid.cols);
  const std::int64_t rows = local_rows(place, x), cols = local_cols(place, x);
  if (x.ld < std::max<std::int64_t>(1, rows))
    refuse_argument(fmt::format("{}.ld", x.name), short_ld_text(fmt::format("{}.ld", x.name), x.ld, rows,
                                                                fmt::format("the part of {}", x.name)));
  if (!checked_product(x.ld, std::max<std::int64_t>(1, cols), size_bytes(dtype)))
    refuse_part(x, "ld", x.ld, fmt::format("and {} columns span more than 2^63 bytes", cols));
  if (x.data == nullptr && rows > 0 && cols > 0)
    refuse_argument(
        x.name, fmt::format("{}.data is null, but this process has {} x {} elements", x.name, rows, cols));
}

void check_agreement(const char* left, std::int64_t value, const char* right, std::int64_t expected) {
  if (value != expected)
    refuse_argument(left, fmt::format("{} = {}, but {} = {}", left, value, right, expected));
}

// The names in X of the fields of op(X).
struct OperandFields {
  const char *rows, *cols, *block_rows, *block_cols;
};
OperandFields operand_fields(Op op, bool is_a) {
  constexpr OperandFields a{"a.rows", "a.cols", "a.block_rows", "a.block_cols"};
  constexpr OperandFields b{"b.rows", "b.cols", "b.block_rows", "b.block_cols"};
  const OperandFields& x = is_a ? a : b;
  return op == Op::none ? x : OperandFields{x.cols, x.rows, x.block_cols, x.block_rows};
}
std::int64_t block_rows_of(Op op, const DistributedOperand& x) {
  return op == Op::none ? x.block_rows : x.block_cols;
}
std::int64_t block_cols_of(Op op, const DistributedOperand& x) {
  return op == Op::none ? x.block_cols : x.block_rows;
}

void validate_together(const DistributedProduct& p) {
  const OperandFields a = operand_fields(p.op_a, true), b = operand_fields(p.op_b, false);
  check_agreement(a.rows, rows_of(p.op_a, p.a), "c.rows", p.c.rows);
  check_agreement(b.cols, cols_of(p.op_b, p.b), "c.cols", p.c.cols);
  check_agreement(b.rows, rows_of(p.op_b, p.b), a.cols, cols_of(p.op_a, p.a));
  check_agreement(a.block_rows, block_rows_of(p.op_a, p.a), "c.block_rows", p.c.block_rows);
  check_agreement(b.block_cols, block_cols_of(p.op_b, p.b), "c.block_cols", p.c.block_cols);
  check_agreement(b.block_rows, block_rows_of(p.op_b, p.b), a.block_cols, block_cols_of(p.op_a, p.a));
}

void validate_c_apart(const GridPlace& place, const DistributedProduct& p, const DistributedOperand& x) {
  const auto* const c = static_cast<const char*>(p.c.data);
  const auto* const other = static_cast<const char*>(x.data);
  const std::int64_t c_bytes = local_bytes(place, p.c, p.dtype), bytes = local_bytes(place, x, p.dtype);
  if (c_bytes > 0 && bytes > 0 && c < other + bytes && other < c + c_bytes)
    refuse_argument("c", fmt::format("c.data has the address of {}, which is read", x.name));
}

}  // namespace

std::int64_t local_extent(std::int64_t extent, std::int64_t block, std::int64_t coordinate,
                          std::int64_t source, std::int64_t processes) {
  const auto refuse = [](const char* name, std::int64_t value, const std::string& why) {
    refuse_argument(name, fmt::format("{} = {} {}", name, value, why));
  };
  refuse_negative("extent", extent);
  refuse_outside("block", block, 1);
  refuse_outside("processes", processes, 1);
  const std::string outside = fmt::format("is not in a grid of {}", processes);
  if (coordinate < 0 || coordinate >= processes) refuse("coordinate", coordinate, outside);
  if (source < 0 || source >= processes) refuse("source", source, outside);
  const std::int64_t distance = (coordinate - source + processes) % processes;
  return local_columns(extent, block, distance, processes);
}

std::int64_t rows_of(Op op, const DistributedOperand& x) { return op == Op::none ? x.rows : x.cols; }
std::int64_t cols_of(Op op, const DistributedOperand& x) { return op == Op::none ? x.cols : x.rows; }

std::int64_t local_rows(const GridPlace& place, const DistributedOperand& x) {
  return local_extent(x.rows, x.block_rows, place.row, x.source_row, place.grid.rows);
}
std::int64_t local_cols(const GridPlace& place, const DistributedOperand& x) {
  return local_extent(x.cols, x.block_cols, place.col, x.source_col, place.grid.cols);
}
std::int64_t local_bytes(const GridPlace& place, const DistributedOperand& x, DType dtype) {
  const std::int64_t rows = local_rows(place, x), cols = local_cols(place, x);
  return rows == 0 || cols == 0 ? 0 : ((cols - 1) * x.ld + rows) * size_bytes(dtype);
}

GridPlace place_of(const ProcessGrid& grid, int rank, int ranks) {
  refuse_outside("grid.rows", grid.rows, 1);
  refuse_outside("grid.cols", grid.cols, 1);
  refuse_unnamed("grid.order", grid.order, RankOrder::row_major);
  if (saturating_product(grid.rows, grid.cols) != ranks)
    refuse_argument("grid", fmt::format("a grid of {} x {} does not fit the {} ranks of the communicator",
                                        grid.rows, grid.cols, ranks));
  if (grid.order == RankOrder::row_major) return {grid, rank / grid.cols, rank % grid.cols};
  return {grid, rank % grid.rows, rank / grid.rows};
}

void validate(const GridPlace& place, const DistributedProduct& p) {
  refuse_unnamed("op_a", p.op_a, Op::conj_trans);
  refuse_unnamed("op_b", p.op_b, Op::conj_trans);
  for (const DistributedOperand* x : {&p.a, &p.b, &p.c}) validate_part(place, *x, p.dtype);
  validate_together(p);
  for (const DistributedOperand* x : {&p.a, &p.b}) validate_c_apart(place, p, *x);
}

}  // namespace tilewright
