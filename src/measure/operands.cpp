// Carves batches out of the arena and finds their elements.
#include "measure/operands.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <random>

#include "core/input/checked.hpp"

namespace tilewright {
namespace {

// Isolated calls take minutes to return to one of so many batches, which thus are cold whatever their bytes.
constexpr double most_isolated_batches = 1 << 18;
constexpr double default_cold_batch_bytes = 32.0 * 1024 * 1024;
// The regions of A, B and C begin at different offsets within a page: with equal ones the CPU would take
// stores to C and loads of A or B 4 KiB apart for conflicts at some sizes.
constexpr std::int64_t b_skew = 1344;
constexpr std::int64_t c_skew = 2752;

std::int64_t whole_lines(std::int64_t bytes) { return (bytes + 63) / 64 * 64; }
std::int64_t whole_pages(std::int64_t bytes) { return (bytes + 4095) / 4096 * 4096; }

// Bytes between consecutive batches of each operand, as they lie in memory, in whole cache lines.
std::array<std::int64_t, 3> extents(const GemmProblem& problem) {
  const auto bytes = [&](int operand) {
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
  };
  return {bytes(0), bytes(1), bytes(2)};
}

}  // namespace

std::int64_t default_batch_count(GemmProblem problem, Residency residency) {
  // The bytes of one problem, or of one block, without the arrays of pointers.
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
  const double needed = std::ceil(ring_bytes / std::max(1.0, footprint_bytes(problem)));
  const double most = problem.arrival == Arrival::idle ? most_isolated_batches : needed;
  return std::max<std::int64_t>(1, std::int64_t(std::min(needed, most)));
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
  const auto [a, b, c] = extents(problem);
  return {whole_pages(a * batches) + b_skew + b * batches, c_skew + c * batches};
}

OperandSet::OperandSet(Arena& arena, const GemmProblem& problem, std::int64_t batches, Data data,
                       PointerOrder order)
    : problem_(problem), batches_(batches) {
  const Extent total = extent(problem, batches);
  arena.prepare(total.input_bytes, total.output_bytes, problem.dtype, data);
  const auto bytes = extents(problem);
  std::byte* const bases[] = {arena.inputs(), arena.inputs() + whole_pages(bytes[0] * batches) + b_skew,
                              arena.outputs() + c_skew};
  for (std::size_t i = 0; i < 3; ++i)
    for (std::int64_t batch = 0; batch < batches; ++batch)
      operands_[i].starts.push_back(bases[i] + batch * bytes[i]);
  if (problem.layout == Layout::pointer) set_pointers(order);
}

OperandSet::OperandSet(Placement placement, int threads, const GemmProblem& problem, std::int64_t batches,
                       Data data, PointerOrder order)
    : problem_(problem), batches_(batches) {
  const auto bytes = extents(problem);
  for (std::size_t i = 0; i < 3; ++i) {
    const std::int64_t each =
        (bytes[i] + problem.batch_count - 1) / std::max<std::int64_t>(1, problem.batch_count);
    for (std::int64_t batch = 0; batch < batches; ++batch) {
      placed_.push_back(allocate_batch(each, problem.batch_count, placement, threads));
      const BatchBuffer& buffer = placed_.back();
      fill(buffer.data(), buffer.bytes() / size_bytes(problem.dtype), problem.dtype, data,
           1 + i + 3 * static_cast<std::uint64_t>(batch));
      operands_[i].starts.push_back(static_cast<std::byte*>(buffer.data()));
    }
  }
  if (problem.layout == Layout::pointer) set_pointers(order);
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
  point(operands_[0], problem_.lda * problem_.a_cols() * size);
  point(operands_[1], problem_.ldb * problem_.b_cols() * size);
  point(operands_[2], problem_.ldc * problem_.n * size, std::max<std::int64_t>(1, products_per_c(problem_)));
}

Operands OperandSet::batch(std::int64_t index) const {
  const auto address = [&](const Matrix& matrix) -> const void* {
    if (matrix.pointers.empty()) return matrix.starts[static_cast<std::size_t>(index)];
    return matrix.pointers.data() + index * problem_.batch_count;
  };
  return {address(operands_[0]), address(operands_[1]), const_cast<void*>(address(operands_[2]))};
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
  streams.a = line(operands_[0]);
  streams.b = line(operands_[1]);
  streams.c = line(operands_[2]);
  streams.a_bytes = moved(problem_.a_rows(), problem_.a_cols(), strided && problem_.stride_a == 0);
  streams.b_bytes = moved(problem_.b_rows(), problem_.b_cols(), strided && problem_.stride_b == 0);
  streams.c_bytes = count * problem_.m * problem_.n * size_bytes(problem_.dtype) * count_of_c(problem_);
  streams.read_c = problem_.beta != Scalar::zero;
  return streams;
}

}  // namespace tilewright
