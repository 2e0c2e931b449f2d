// Checks in the order of the BLAS argument list, so that an info code reports the first fault.
#include "core/product/faults.hpp"

#include <algorithm>

#include "core/refuse.hpp"

namespace tilewright {
namespace {

using Names = ArgumentNames;

// One operand of a problem, as it is stored and under the caller's name for it.
struct NamedOperand {
  const Names::Operand& name;
  Names::Size cols_name;
  std::int64_t rows, cols, ld;
  std::array<std::int64_t, most_batch_levels> strides;
};

constexpr Names::Size name_k{"k", blas_number::k};

NamedOperand named_a(const GemmProblem& p, const Names& names) {
  const Names::Size cols = p.op_a == Op::none ? name_k : names.m;
  return {names.a, cols, p.a_rows(), p.a_cols(), p.lda, {p.stride_a, p.outer_a, p.outermost_a}};
}
NamedOperand named_b(const GemmProblem& p, const Names& names) {
  const Names::Size cols = p.op_b == Op::none ? names.n : name_k;
  return {names.b, cols, p.b_rows(), p.b_cols(), p.ldb, {p.stride_b, p.outer_b, p.outermost_b}};
}
NamedOperand named_c(const GemmProblem& p, const Names& names) {
  return {names.c, names.n, p.m,
          p.n,     p.ldc,   {p.sums == Sums::none ? p.stride_c : 0, p.outer_c, p.outermost_c}};
}

// Returns the operands in the order of the caller's arguments.
std::array<NamedOperand, 3> named_operands(const GemmProblem& p, const Names& names) {
  const NamedOperand a = named_a(p, names), b = named_b(p, names), c = named_c(p, names);
  if (names.by_rows) return {b, a, c};
  return {a, b, c};
}

std::optional<Fault> negative(const char* argument, int number, std::int64_t value) {
  if (auto reason = negative_reason(argument, value)) return Fault{argument, number, *reason};
  return {};
}

template <class Enum>
std::optional<Fault> unnamed(const char* argument, Enum value, Enum last) {
  if (auto reason = unnamed_reason(argument, value, last)) return Fault{argument, 0, *reason};
  return {};
}

// Checks the fields that have no counterpart in a BLAS call.
std::optional<Fault> kind_fault(const GemmProblem& p) {
  if (auto fault = unnamed("dtype", p.dtype, DType::c128)) return fault;
  if (auto fault = unnamed("layout", p.layout, Layout::variable)) return fault;
  if (auto fault = unnamed("location", p.location, Location::device)) return fault;
  if (auto fault = unnamed("alpha", p.alpha, Scalar::per_problem)) return fault;
  if (auto fault = unnamed("beta", p.beta, Scalar::per_problem)) return fault;
  if (auto fault = unnamed("arrival", p.arrival, Arrival::idle)) return fault;
  return unnamed("residency", p.residency, Residency::l1);
}

using Wide = __int128;
constexpr Wide largest_span = Wide(1)
                              << 62;  // bytes; leaves room for the sum of a base address and an offset

Fault too_long(const NamedOperand& x, const char* argument, int number, std::int64_t value) {
  return {argument, number,
          fmt::format("{} = {} makes {} span more than 2^62 bytes of address space", argument, value,
                      x.name.title)};
}

// Reports a matrix that spans too many bytes, by its larger factor. It computes in 128 bits because the
// fields are unchecked: the comparison against largest_span after each product prevents wrapping.
std::optional<Fault> matrix_span_fault(const GemmProblem& p, const NamedOperand& x) {
  if (Wide(x.ld) * x.cols <= largest_span / size_bytes(p.dtype)) return {};
  if (x.cols > x.ld) return too_long(x, x.cols_name.name, x.cols_name.number, x.cols);
  return too_long(x, x.name.ld, x.name.ld_number, x.ld);
}

// Checks the span of all matrices of a batch likewise.
std::optional<Fault> span_fault(const GemmProblem& p, const NamedOperand& x, const Names& names) {
  const Wide size = size_bytes(p.dtype);
  Wide span = Wide(x.ld) * x.cols * size;
  if (is_interleaved(p.layout) && p.block > 0) {
    const Wide blocks = (Wide(p.batch_count) + p.block - 1) / p.block;
    if (span * p.block > largest_span) return too_long(x, "block", 0, p.block);
    if (span * p.block * blocks > largest_span) return too_long(x, names.counts[0], 0, p.batch_count);
  } else if (p.layout == Layout::strided && p.batch_count > 0) {
    const auto levels = batch_levels(p);
    for (std::size_t i = 0; i < levels.size(); ++i) {
      span += std::min(Wide(levels[i].count - 1) * x.strides[i], largest_span) * size;
      if (span <= largest_span) continue;
      if (levels[i].count > x.strides[i]) return too_long(x, names.counts[i], 0, levels[i].count);
      return too_long(x, x.name.strides[i], x.name.number, x.strides[i]);
    }
  }
  return {};
}

std::optional<Fault> batch_fault(const GemmProblem& p, const Names& names) {
  const char* const count = names.counts[0];
  if (auto fault = negative(count, 0, p.batch_count)) return fault;
  if (p.layout == Layout::pointer && p.batch_count > std::int64_t(largest_span) / std::int64_t(sizeof(void*)))
    return Fault{
        count, 0,
        fmt::format("{} = {} pointers span more than 2^62 bytes of address space", count, p.batch_count)};
  if (p.layout == Layout::single && p.batch_count != 1)
    return Fault{count, 0, fmt::format("{} = {} must be 1 for a single problem", count, p.batch_count)};
  if (is_interleaved(p.layout) && (p.block < 0 || (p.block == 0 && p.batch_count > 0)))
    return Fault{"block", 0, fmt::format("block = {} must be at least 1", p.block)};
  if (p.layout == Layout::interleaved && p.block != p.batch_count)
    return Fault{"block", 0,
                 fmt::format("block = {} but an interleaved batch is one block of all {} problems", p.block,
                             p.batch_count)};
  return {};
}

// Checks the outer levels: the product of their counts must divide the batch count.
std::optional<Fault> level_fault(const GemmProblem& p, const Names& names) {
  if (!has_levels(p)) return {};
  const auto& [count, outer, outermost] = names.counts;
  if (p.layout != Layout::strided)
    return Fault{p.outer_count != 1 ? outer : outermost, 0,
                 fmt::format("{} = {}, {} = {}, but the layout {} has one level", outer, p.outer_count,
                             outermost, p.outermost_count, to_string(p.layout))};
  if (auto fault = negative(outer, 0, p.outer_count)) return fault;
  if (auto fault = negative(outermost, 0, p.outermost_count)) return fault;
  const Wide around = Wide(p.outer_count) * p.outermost_count;
  if (around == 0 ? p.batch_count != 0 : p.batch_count % around != 0)
    return Fault{count, 0,
                 fmt::format("{} = {} is not a multiple of {} = {} times {} = {}", count, p.batch_count,
                             outer, p.outer_count, outermost, p.outermost_count)};
  return {};
}

// One direction in which elements of C follow one another: rows, columns or a level.
struct Direction {
  int level;  // -1: rows or columns
  Wide stride;
  std::int64_t count;
};

Fault overlap_at(const GemmProblem& p, const NamedOperand& c, std::size_t level) {
  Wide within = Wide(p.ldc) * (p.n - 1) + p.m;
  const auto levels = batch_levels(p);
  for (std::size_t i = 0; i < level; ++i)
    within = std::min(within + std::max<Wide>(0, Wide(levels[i].count - 1) * c.strides[i]), largest_span);
  return {c.name.strides[level], c.name.number,
          fmt::format("{} = {} is smaller than the {} elements that {}: neighbouring problems would overlap",
                      c.name.strides[level], c.strides[level], std::int64_t(within),
                      level == 0 ? "one C spans" : "it steps over")};
}

// Finds problems that share elements of C: each direction, the shortest stride first, must step over all that
// lies within it. Nested levels satisfy this, and so do bands of rows of one larger matrix, as in the heads
// of an attention layer, which alternate within a column.
std::optional<Fault> overlap_fault(const GemmProblem& p, const NamedOperand& c) {
  if (p.batch_count <= 1 || p.m == 0 || p.n == 0) return {};
  std::array<Direction, 2 + most_batch_levels> all{Direction{-1, 1, p.m}, Direction{-1, p.ldc, p.n}};
  const auto levels = batch_levels(p);
  for (std::size_t i = 0; i < levels.size(); ++i) all[2 + i] = {int(i), c.strides[i], levels[i].count};
  std::stable_sort(all.begin(), all.end(),
                   [](const Direction& x, const Direction& y) { return x.stride < y.stride; });
  Wide extent = 1;  // of the directions so far
  int level = 0;
  for (const Direction& next : all) {
    if (next.count <= 1) continue;
    if (next.level >= 0) level = next.level;
    if (next.stride < extent) return overlap_at(p, c, std::size_t(level));
    extent = std::min(extent + (next.count - 1) * next.stride, 2 * largest_span);
  }
  return {};
}

std::optional<Fault> sums_fault(const GemmProblem& p, const Names& names) {
  if (auto fault = unnamed("sums", p.sums, Sums::stack)) return fault;
  if (p.sums == Sums::stack && p.layout != Layout::pointer)
    return Fault{"layout", 0, fmt::format("layout = {} must be pointer for a stack", to_string(p.layout))};
  if (p.sums == Sums::batch_reduce && p.layout != Layout::pointer && p.layout != Layout::strided)
    return Fault{
        "layout", 0,
        fmt::format("layout = {} must be strided or pointer for a batch-reduce", to_string(p.layout))};
  if (has_levels(p) && p.sums != Sums::none)
    return Fault{names.counts[1], 0,
                 fmt::format("{} = {}, {} = {}, but sums of products have one level", names.counts[1],
                             p.outer_count, names.counts[2], p.outermost_count)};
  for (const auto& [name, kind] : {std::pair("alpha", p.alpha), std::pair("beta", p.beta)})
    if (p.sums != Sums::none && kind == Scalar::per_problem)
      return Fault{name, 0,
                   fmt::format("{} = per_problem, but products that share a C have one {}", name, name)};
  if (p.run < 1) return Fault{"run", 0, fmt::format("run = {} must be at least 1", p.run)};
  return {};
}

std::optional<Fault> stride_fault(const GemmProblem& p, const Names& names) {
  if (p.layout != Layout::strided) return {};
  for (const NamedOperand& x : named_operands(p, names))
    for (std::size_t i = 0; i < x.strides.size(); ++i)
      if (auto fault = negative(x.name.strides[i], x.name.number, x.strides[i])) return fault;
  return p.sums == Sums::none ? overlap_fault(p, named_c(p, names)) : std::nullopt;
}

// Returns the fault of an invalid operation. Numbers of C callers keep their sign.
Fault no_op(const Names::Operand& x, Op op) {
  return {x.op, x.op_number, unnamed_text<Op>(x.op, int(static_cast<signed char>(op)))};
}

Fault negative_size(const Names::Size& size, std::int64_t value) {
  return {size.name, size.number, *negative_reason(size.name, value)};
}

Fault short_ld(const NamedOperand& x, bool by_rows) {
  return {x.name.ld, x.name.ld_number, short_ld_text(x.name.ld, x.ld, x.rows, x.name.title, by_rows)};
}

// Returns the first fault of two arguments that change places for row-major callers.
template <class F, class G>
std::optional<Fault> first_of(const Names& names, F&& first, G&& second) {
  if (auto fault = names.by_rows ? second() : first()) return fault;
  return names.by_rows ? first() : second();
}

}  // namespace

std::optional<Fault> find_shape_fault(const GemmProblem& p, const ArgumentNames& names) {
  switch (first_bad_argument(p, names.by_rows)) {
    case ShapeArgument::none:
      return {};
    case ShapeArgument::op_a:
      return no_op(names.a, p.op_a);
    case ShapeArgument::op_b:
      return no_op(names.b, p.op_b);
    case ShapeArgument::m:
      return negative_size(names.m, p.m);
    case ShapeArgument::n:
      return negative_size(names.n, p.n);
    case ShapeArgument::k:
      return negative_size(name_k, p.k);
    case ShapeArgument::lda:
      return short_ld(named_a(p, names), names.by_rows);
    case ShapeArgument::ldb:
      return short_ld(named_b(p, names), names.by_rows);
    case ShapeArgument::ldc:
      return short_ld(named_c(p, names), names.by_rows);
  }
  return {};
}

std::optional<Fault> find_fault(const GemmProblem& p, const ArgumentNames& names) {
  if (auto fault = kind_fault(p)) return fault;
  if (auto fault = find_shape_fault(p, names)) return fault;
  if (auto fault = batch_fault(p, names)) return fault;
  if (auto fault = level_fault(p, names)) return fault;
  if (auto fault = sums_fault(p, names)) return fault;
  for (const NamedOperand& x : named_operands(p, names))
    if (auto fault = matrix_span_fault(p, x)) return fault;
  if (auto fault = stride_fault(p, names)) return fault;
  for (const NamedOperand& x : named_operands(p, names))
    if (auto fault = span_fault(p, x, names)) return fault;
  return {};
}

std::optional<Fault> null_fault(const Addresses& at, bool reads_ab, const ArgumentNames& names) {
  const auto null = [](const Names::Operand& x, const void* address) -> std::optional<Fault> {
    if (address != nullptr) return {};
    return Fault{x.matrix, x.number, fmt::format("{} is null", x.matrix)};
  };
  if (reads_ab)
    if (auto fault = first_of(
            names, [&] { return null(names.a, at.a); }, [&] { return null(names.b, at.b); }))
      return fault;
  return null(names.c, at.c);
}

std::optional<Fault> address_fault(const Addresses& at, bool reads_ab, const ArgumentNames& names) {
  if (at.are_plainly_right(reads_ab)) return {};
  if (auto fault = null_fault(at, reads_ab, names)) return fault;
  const auto in_place = [&](const Names::Operand& x, const void* address) -> std::optional<Fault> {
    if (address != at.c) return {};
    return Fault{names.c.matrix, names.c.number,
                 fmt::format("{} has the address of {}: {}", names.c.matrix, x.matrix, in_place_reason)};
  };
  return first_of(
      names, [&] { return in_place(names.a, at.a); }, [&] { return in_place(names.b, at.b); });
}

void validate(const GemmProblem& problem, const ArgumentNames& names) {
  if (auto fault = find_fault(problem, names))
    throw Error(ErrorCode::invalid_argument, fault->argument, fault->message);
}

}  // namespace tilewright
