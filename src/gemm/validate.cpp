// The checks of a problem's fields in the order of the BLAS argument list, so that the first fault is the one
// whose number an info code reports.
#include "gemm/validate.hpp"

#include <algorithm>

#include "core/refuse.hpp"
#include "gemm/operand.hpp"

namespace tilewright {
namespace {

struct NamedOperand {
  const char* name;
  const char* ld_name;
  std::array<const char*, most_batch_levels> stride_names;  // from the innermost level on
  int number;
  int ld_number;
  OperandLayout layout;
  std::array<std::int64_t, most_batch_levels> strides;
};

std::array<NamedOperand, 3> named_operands(const GemmProblem& p) {
  // The steps are not used here and could overflow for unchecked sizes, so only rows, cols and ld are filled.
  return {{{"A",
            "lda",
            {"stride_a", "outer_a", "outermost_a"},
            blas_number::a,
            blas_number::lda,
            {p.a_rows(), p.a_cols(), p.lda, 0},
            {p.stride_a, p.outer_a, p.outermost_a}},
           {"B",
            "ldb",
            {"stride_b", "outer_b", "outermost_b"},
            blas_number::b,
            blas_number::ldb,
            {p.b_rows(), p.b_cols(), p.ldb, 0},
            {p.stride_b, p.outer_b, p.outermost_b}},
           {"C",
            "ldc",
            {"stride_c", "outer_c", "outermost_c"},
            blas_number::c,
            blas_number::ldc,
            {p.m, p.n, p.ldc, 0},
            {p.sums == Sums::none ? p.stride_c : 0, p.outer_c, p.outermost_c}}}};
}

std::optional<Fault> negative(const char* argument, int number, std::int64_t value) {
  if (auto reason = negative_reason(argument, value)) return Fault{argument, number, *reason};
  return {};
}

std::optional<Fault> no_op(const char* argument, int number, Op op) {
  if (op <= Op::conj_trans) return {};
  return Fault{argument, number, fmt::format("{} = {} is none of n (0), t (1), c (2)", argument, int(op))};
}

template <class Enum>
std::optional<Fault> unnamed(const char* argument, Enum value, Enum last) {
  if (auto reason = unnamed_reason(argument, value, last)) return Fault{argument, 0, *reason};
  return {};
}

// Of what no BLAS call has an argument for.
std::optional<Fault> kind_fault(const GemmProblem& p) {
  if (auto fault = unnamed("dtype", p.dtype, DType::c128)) return fault;
  if (auto fault = unnamed("layout", p.layout, Layout::variable)) return fault;
  if (auto fault = unnamed("location", p.location, Location::device)) return fault;
  if (auto fault = unnamed("alpha", p.alpha, Scalar::general)) return fault;
  if (auto fault = unnamed("beta", p.beta, Scalar::general)) return fault;
  return unnamed("residency", p.residency, Residency::l1);
}

using Wide = __int128;
constexpr Wide largest_span = Wide(1)
                              << 62;  // bytes; leaves room for the sum of a base address and an offset

// Whether the bytes from the first element of the operand to behind its last are too many; the argument that
// makes them so. In 128 bits because the fields are unchecked: the comparisons against largest_span after
// each product keep it from wrapping.
std::optional<Fault> span_fault(const GemmProblem& p, const NamedOperand& x) {
  const auto too_long = [&](const char* argument, int number, std::int64_t value) {
    return Fault{
        argument, number,
        fmt::format("{} = {} makes {} span more than 2^62 bytes of address space", argument, value, x.name)};
  };
  const Wide size = size_bytes(p.dtype);
  Wide span = Wide(x.layout.ld) * x.layout.cols;
  if (span > largest_span / size) return too_long(x.ld_name, x.ld_number, x.layout.ld);
  span *= size;
  if (is_interleaved(p) && p.block > 0) {
    const Wide blocks = (Wide(p.batch_count) + p.block - 1) / p.block;
    if (span * p.block > largest_span) return too_long("block", 0, p.block);
    if (span * p.block * blocks > largest_span) return too_long("batch_count", 0, p.batch_count);
  } else if (p.layout == Layout::strided && p.batch_count > 0) {
    const auto levels = batch_levels(p);
    for (std::size_t i = 0; i < levels.size(); ++i) {
      span += std::min(Wide(levels[i].count - 1) * x.strides[i], largest_span) * size;
      if (span > largest_span) return too_long(x.stride_names[i], x.number, x.strides[i]);
    }
  }
  return {};
}

std::optional<Fault> batch_fault(const GemmProblem& p) {
  if (auto fault = negative("batch_count", 0, p.batch_count)) return fault;
  if (p.layout == Layout::pointer && p.batch_count > std::int64_t(largest_span) / std::int64_t(sizeof(void*)))
    return Fault{
        "batch_count", 0,
        fmt::format("batch_count = {} pointers span more than 2^62 bytes of address space", p.batch_count)};
  if (p.layout == Layout::single && p.batch_count != 1)
    return Fault{"batch_count", 0,
                 fmt::format("batch_count = {} but a single problem is one", p.batch_count)};
  if (is_interleaved(p) && (p.block < 0 || (p.block == 0 && p.batch_count > 0)))
    return Fault{"block", 0, fmt::format("block = {} but a block holds at least one problem", p.block)};
  if (p.layout == Layout::interleaved && p.block != p.batch_count)
    return Fault{"block", 0,
                 fmt::format("block = {} but an interleaved batch is one block of all {} problems", p.block,
                             p.batch_count)};
  return {};
}

// Levels are as many parts as problems can be dealt out to.
std::optional<Fault> level_fault(const GemmProblem& p) {
  if (!has_levels(p)) return {};
  if (p.layout != Layout::strided)
    return Fault{p.outer_count != 1 ? "outer_count" : "outermost_count", 0,
                 fmt::format("outer_count = {}, outermost_count = {}, but the layout {} has one level",
                             p.outer_count, p.outermost_count, to_string(p.layout))};
  if (auto fault = negative("outer_count", 0, p.outer_count)) return fault;
  if (auto fault = negative("outermost_count", 0, p.outermost_count)) return fault;
  const Wide around = Wide(p.outer_count) * p.outermost_count;
  if (around == 0 ? p.batch_count != 0 : p.batch_count % around != 0)
    return Fault{"batch_count", 0,
                 fmt::format("batch_count = {} is no multiple of outer_count = {} times outermost_count = {}",
                             p.batch_count, p.outer_count, p.outermost_count)};
  return {};
}

// One direction in which elements of C follow one another: rows, columns or a level.
struct Direction {
  const char* name;  // of a level's stride; null for rows and columns
  Wide stride;
  std::int64_t count;
};

Fault overlap_at(const GemmProblem& p, const Direction& level, Wide within, bool innermost) {
  const Wide one = Wide(p.ldc) * (p.n - 1) + p.m, least = innermost ? one : std::max(one, within);
  return {level.name, blas_number::c,
          fmt::format("{} = {} is smaller than the {} elements that {}, so neighbouring problems would "
                      "overlap",
                      level.name, std::int64_t(level.stride), std::int64_t(std::min(least, largest_span)),
                      innermost ? "one C spans" : "lie within it")};
}

// Whether problems share elements of C: sought where each direction, the shortest stride first, steps over
// all that lies within it. So lie levels one around the other, and bands of rows of one larger matrix, as in
// the heads of an attention layer, which alternate within a column.
std::optional<Fault> overlap_fault(const GemmProblem& p, const NamedOperand& c) {
  if (p.batch_count <= 1 || p.m == 0 || p.n == 0) return {};
  std::array<Direction, 2 + most_batch_levels> all{Direction{nullptr, 1, p.m},
                                                   Direction{nullptr, p.ldc, p.n}};
  const auto levels = batch_levels(p);
  for (std::size_t i = 0; i < levels.size(); ++i)
    all[2 + i] = {c.stride_names[i], c.strides[i], levels[i].count};
  std::stable_sort(all.begin(), all.end(),
                   [](const Direction& x, const Direction& y) { return x.stride < y.stride; });
  Wide extent = 1;  // of what lies within
  const Direction* level = nullptr;
  for (const Direction& next : all) {
    if (next.count <= 1) continue;
    if (next.name != nullptr) level = &next;
    if (next.stride < extent) return overlap_at(p, *level, extent, level->name == c.stride_names[0]);
    extent = std::min(extent + (next.count - 1) * next.stride, 2 * largest_span);
  }
  return {};
}

std::optional<Fault> sums_fault(const GemmProblem& p) {
  if (auto fault = unnamed("sums", p.sums, Sums::stack)) return fault;
  if (p.sums == Sums::stack && p.layout != Layout::pointer)
    return Fault{"layout", 0, fmt::format("layout = {} but a stack is a pointer batch", to_string(p.layout))};
  if (p.sums == Sums::batch_reduce && p.layout != Layout::pointer && p.layout != Layout::strided)
    return Fault{
        "layout", 0,
        fmt::format("layout = {} but what is summed up is a strided or pointer batch", to_string(p.layout))};
  if (has_levels(p) && p.sums != Sums::none)
    return Fault{"outer_count", 0,
                 fmt::format("outer_count = {}, outermost_count = {}, but what is summed up has one level",
                             p.outer_count, p.outermost_count)};
  if (p.run < 1) return Fault{"run", 0, fmt::format("run = {} but a C gets one product at least", p.run)};
  return {};
}

std::optional<Fault> stride_fault(const GemmProblem& p) {
  if (p.layout != Layout::strided) return {};
  const auto operands = named_operands(p);
  for (const NamedOperand& x : operands)
    for (std::size_t i = 0; i < x.strides.size(); ++i)
      if (auto fault = negative(x.stride_names[i], x.number, x.strides[i])) return fault;
  return p.sums == Sums::none ? overlap_fault(p, operands[2]) : std::nullopt;
}

}  // namespace

std::optional<Fault> find_shape_fault(const GemmProblem& p) {
  if (auto fault = no_op("op_a", blas_number::op_a, p.op_a)) return fault;
  if (auto fault = no_op("op_b", blas_number::op_b, p.op_b)) return fault;
  if (auto fault = negative("m", blas_number::m, p.m)) return fault;
  if (auto fault = negative("n", blas_number::n, p.n)) return fault;
  if (auto fault = negative("k", blas_number::k, p.k)) return fault;
  for (const NamedOperand& x : named_operands(p))
    if (x.layout.ld < x.layout.rows)
      return Fault{x.ld_name, x.ld_number,
                   fmt::format("{} = {} is smaller than the {} rows of {}", x.ld_name, x.layout.ld,
                               x.layout.rows, x.name)};
  return {};
}

std::optional<Fault> find_fault(const GemmProblem& p) {
  if (auto fault = kind_fault(p)) return fault;
  if (auto fault = find_shape_fault(p)) return fault;
  if (auto fault = batch_fault(p)) return fault;
  if (auto fault = level_fault(p)) return fault;
  if (auto fault = sums_fault(p)) return fault;
  if (auto fault = stride_fault(p)) return fault;
  for (const NamedOperand& x : named_operands(p))
    if (auto fault = span_fault(p, x)) return fault;
  return {};
}

void validate(const GemmProblem& problem) {
  if (auto fault = find_fault(problem))
    throw Error(ErrorCode::invalid_argument, fault->argument, fault->message);
}

}  // namespace tilewright
