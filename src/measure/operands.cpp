// Carves batches out of the arena and finds their elements.
#include "measure/operands.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include "core/input/checked.hpp"

namespace tilewright {
namespace {

constexpr double default_cold_batch_bytes = 32.0 * 1024 * 1024;
// The regions of A, B and C begin at different offsets within a page: with equal offsets, the CPU would take
// stores to C and loads of A or B 4 KiB apart for conflicts at some sizes, and that would decide the
// comparison.
constexpr std::int64_t b_skew = 1344;
constexpr std::int64_t c_skew = 2752;

std::int64_t whole_lines(std::int64_t bytes) { return (bytes + 63) / 64 * 64; }
std::int64_t whole_pages(std::int64_t bytes) { return (bytes + 4095) / 4096 * 4096; }

// Bytes between consecutive batches of each operand, as they lie in memory, in whole cache lines.
struct Extents {
  explicit Extents(const GemmProblem& problem)
      : a(bytes(problem, 0)), b(bytes(problem, 1)), c(bytes(problem, 2)) {}
  std::int64_t a, b, c;

 private:
  static std::int64_t bytes(const GemmProblem& problem, int operand) {
    const StoredOperand x = stored_operand(problem, operand);
    const std::int64_t count = operand == 2 ? count_of_c(problem) : problem.batch_count,
                       matrices = x.column_step * x.columns;
    std::int64_t elements = saturating_product(matrices, count);  // of addresses
    if (problem.layout == Layout::strided && count > 0)
      elements = saturating_sum(saturating_product(x.step, count - 1), matrices);
    if (is_interleaved(problem.layout) && problem.block > 0 && count > 0)
      elements = saturating_product((count - 1) / problem.block + 1, matrices);
    constexpr std::int64_t most = std::int64_t{1} << 60;  // exceeds any memory; three of them can be added
    return whole_lines(std::min(most, saturating_product(elements, size_bytes(problem.dtype))));
  }
};

}  // namespace

std::int64_t default_batch_count(GemmProblem problem, Residency residency) {
  // The footprint of one problem, or of one block, without the arrays of pointers: residency counts operands
  // only.
  const std::int64_t unit = problem.layout == Layout::block_interleaved ? problem.block : 1;
  problem.layout = Layout::strided;
  problem.batch_count = 1;
  const double unit_bytes = double(unit) * footprint_bytes(problem);
  double room = default_cold_batch_bytes;
  if (residency == Residency::l2) room = l2_bytes;
  if (residency == Residency::l1) room = l1_bytes;
  return std::max<std::int64_t>(1, std::int64_t(room / std::max(1.0, unit_bytes))) * unit;
}

std::int64_t batches_for(const GemmProblem& problem, Residency residency, int threads, double ring_bytes) {
  if (residency != Residency::cold) return threads;
  return std::max<std::int64_t>(
      1, std::int64_t(std::ceil(ring_bytes / std::max(1.0, footprint_bytes(problem)))));
}

StoredOperand stored_operand(const GemmProblem& p, int operand) {
  const std::int64_t rows[] = {p.a_rows(), p.b_rows(), p.m}, columns[] = {p.a_cols(), p.b_cols(), p.n};
  const std::int64_t lds[] = {p.lda, p.ldb, p.ldc}, strides[] = {p.stride_a, p.stride_b, p.stride_c};
  const std::int64_t block = is_interleaved(p.layout) ? std::max<std::int64_t>(p.block, 1) : 1;
  const std::int64_t ld = lds[operand];
  std::int64_t step = p.layout == Layout::strided ? strides[operand] : 0;
  if (operand == 2 && p.sums != Sums::none) step = 0;
  if (is_interleaved(p.layout)) step = block * ld * columns[operand];
  return {rows[operand], columns[operand], block, block * ld, block, step};
}

OperandSet::Extent OperandSet::extent(const GemmProblem& problem, std::int64_t batches) {
  const Extents bytes(problem);
  return {whole_pages(bytes.a * batches) + b_skew + bytes.b * batches, c_skew + bytes.c * batches};
}

OperandSet::OperandSet(Arena& arena, const GemmProblem& problem, std::int64_t batches, Data data,
                       PointerOrder order)
    : problem_(problem), batches_(batches) {
  const Extent total = extent(problem, batches);
  arena.prepare(total.input_bytes, total.output_bytes, problem.dtype, data);
  const Extents bytes(problem);
  carve(a_, arena.inputs(), bytes.a);
  carve(b_, arena.inputs() + whole_pages(bytes.a * batches) + b_skew, bytes.b);
  carve(c_, arena.outputs() + c_skew, bytes.c);
  if (problem.layout == Layout::pointer) set_pointers(order);
}

OperandSet::OperandSet(Placement placement, int threads, const GemmProblem& problem, std::int64_t batches,
                       Data data, PointerOrder order)
    : problem_(problem), batches_(batches) {
  const Extents bytes(problem);
  const auto per_problem = [&](std::int64_t batch_bytes) {
    return (batch_bytes + problem.batch_count - 1) / std::max<std::int64_t>(1, problem.batch_count);
  };
  place(a_, placement, threads, per_problem(bytes.a), data, 1);
  place(b_, placement, threads, per_problem(bytes.b), data, 2);
  place(c_, placement, threads, per_problem(bytes.c), data, 3);
  if (problem.layout == Layout::pointer) set_pointers(order);
}

void OperandSet::carve(Matrix& matrix, std::byte* base, std::int64_t batch_bytes) {
  for (std::int64_t batch = 0; batch < batches_; ++batch) matrix.starts.push_back(base + batch * batch_bytes);
}

void OperandSet::place(Matrix& matrix, Placement placement, int threads, std::int64_t problem_bytes,
                       Data data, std::uint64_t seed) {
  for (std::int64_t batch = 0; batch < batches_; ++batch) {
    placed_.push_back(allocate_batch(problem_bytes, problem_.batch_count, placement, threads));
    const BatchBuffer& buffer = placed_.back();
    fill(buffer.data(), buffer.bytes() / size_bytes(problem_.dtype), problem_.dtype, data,
         seed + 3 * static_cast<std::uint64_t>(batch));
    matrix.starts.push_back(static_cast<std::byte*>(buffer.data()));
  }
}

void OperandSet::set_pointers(PointerOrder order) {
  const std::int64_t count = problem_.batch_count;
  const std::int64_t size = size_bytes(problem_.dtype);
  std::mt19937_64 random(11);
  // `run`: how many consecutive problems share one matrix.
  const auto point = [&](Matrix& matrix, std::int64_t problem_bytes, std::int64_t run = 1) {
    std::vector<std::int64_t> slots(static_cast<std::size_t>((count + run - 1) / run));
    std::iota(slots.begin(), slots.end(), 0);
    matrix.pointers.reserve(static_cast<std::size_t>(count * batches_));
    for (std::byte* start : matrix.starts) {
      if (order == PointerOrder::random) std::shuffle(slots.begin(), slots.end(), random);
      for (std::int64_t i = 0; i < count; ++i)
        matrix.pointers.push_back(start + slots[static_cast<std::size_t>(i / run)] * problem_bytes);
    }
  };
  point(a_, problem_.lda * problem_.a_cols() * size);
  point(b_, problem_.ldb * problem_.b_cols() * size);
  point(c_, problem_.ldc * problem_.n * size, std::max<std::int64_t>(1, products_per_c(problem_)));
}

Operands OperandSet::batch(std::int64_t index) const {
  const auto address = [&](const Matrix& matrix) -> const void* {
    if (matrix.pointers.empty()) return matrix.starts[static_cast<std::size_t>(index)];
    return matrix.pointers.data() + index * problem_.batch_count;
  };
  Operands operands;
  operands.a = address(a_);
  operands.b = address(b_);
  operands.c = const_cast<void*>(address(c_));
  return operands;
}

StreamOperands OperandSet::streams(std::int64_t first, std::int64_t count) const {
  const auto line = [&](const Matrix& matrix) {
    const auto address = reinterpret_cast<std::uintptr_t>(matrix.starts[static_cast<std::size_t>(first)]);
    return reinterpret_cast<std::byte*>(address & ~std::uintptr_t{63});
  };
  const bool strided = problem_.layout == Layout::strided;
  const auto moved = [&](std::int64_t rows, std::int64_t columns, bool broadcast) {
    return count * rows * columns * size_bytes(problem_.dtype) * (broadcast ? 1 : problem_.batch_count);
  };
  StreamOperands streams;
  streams.a = line(a_);
  streams.b = line(b_);
  streams.c = line(c_);
  streams.a_bytes = moved(problem_.a_rows(), problem_.a_cols(), strided && problem_.stride_a == 0);
  streams.b_bytes = moved(problem_.b_rows(), problem_.b_cols(), strided && problem_.stride_b == 0);
  streams.c_bytes = count * problem_.m * problem_.n * size_bytes(problem_.dtype) * count_of_c(problem_);
  streams.read_c = problem_.beta != Scalar::zero;
  return streams;
}

}  // namespace tilewright
