// Address arithmetic of pieces, for each side and each layout of a batch.
#include "gemm/hybrid/split/shape.hpp"

#include <algorithm>

namespace tilewright {
namespace {

constexpr std::int64_t columns_grain = 32;  // of columns or rows
// Kernels with several problems in one vector have no tail at such borders. At least a cache line of numbers.
constexpr std::int64_t problems_grain = 16;

HostPart part_at(const void* operand, std::int64_t offset_bytes, std::int64_t pitch_bytes,
                 const BlockShape& shape) {
  return {{static_cast<char*>(const_cast<void*>(operand)) + offset_bytes, pitch_bytes}, shape};
}

}  // namespace

std::int64_t StreamShape::grain() const {
  if (!is_batch()) return columns_grain;
  if (has_blocks()) return problem_.block;
  return is_interleaved(problem_) || problem_.batch_count >= 16 * problems_grain ? problems_grain : 1;
}

std::int64_t StreamShape::span_bytes(ProductMatrix which) const {
  const OperandLayout& l = layout(which);
  if (problem_.layout == Layout::pointer || problem_.batch_count == 0) return 0;
  if (is_interleaved(problem_))
    return (problem_.batch_count + problem_.block - 1) / problem_.block * l.step * element_bytes();
  return (l.offset(problem_.batch_count - 1) + (l.cols - 1) * l.ld + l.rows) * element_bytes();
}

std::optional<HostPart> StreamShape::block(ProductMatrix which, const void* operand,
                                           const Piece& piece) const {
  const OperandLayout& l = layout(which);
  const std::int64_t es = element_bytes();
  const auto part = [&](std::int64_t offset, std::int64_t pitch, std::int64_t rows, std::int64_t columns) {
    return part_at(operand, offset * es, pitch * es, {rows, columns, int(es)});
  };
  if (!is_batch()) {
    const StoredBlock block = stored(which, piece);
    return part(block.column * l.ld + block.row, l.ld, block.rows, block.columns);
  }
  const IndexRange& problems = piece.along;
  if (is_shared(which)) return part(0, l.ld, l.rows, l.cols);
  if (problem_.layout == Layout::pointer) return std::nullopt;
  if (is_interleaved(problem_)) {
    const std::int64_t in_block = problem_.block;
    const std::int64_t offset = problems.first / in_block * l.step + problems.first % in_block;
    if (!in_one_block(problems))
      return part(offset, in_block * l.ld, in_block * l.rows, l.cols * (problems.count / in_block));
    if (l.ld != l.rows && l.cols > 1) return std::nullopt;
    return part(offset, in_block, problems.count, l.rows * l.cols);
  }
  const std::int64_t offset = l.offset(problems.first);
  if (are_bands(which)) return part(offset, l.ld, l.rows * problems.count, l.cols);
  if ((l.step == l.ld * l.cols && !has_levels(problem_)) || problems.count == 1)
    return part(offset, l.ld, l.rows, l.cols * problems.count);
  return std::nullopt;
}

std::vector<IndexRange> StreamShape::pieces(const IndexRange& range, std::int64_t most) const {
  const std::int64_t each = std::max(grain(), most / grain() * grain());
  std::vector<IndexRange> all;
  for (std::int64_t first = range.first; first < range.end(); first += each)
    all.push_back({first, std::min(each, range.end() - first)});
  // The last block of a batch may be used in part: that part is a piece of its own.
  if (!has_blocks() || all.empty()) return all;
  IndexRange& last = all.back();
  const std::int64_t rest = last.count % problem_.block;
  if (rest > 0 && rest < last.count) {
    last.count -= rest;
    all.push_back({last.end(), rest});
  }
  return all;
}

bool StreamShape::are_bands(ProductMatrix which) const {
  const OperandLayout& l = layout(which);
  return problem_.layout == Layout::strided && !has_levels(problem_) && l.step == l.rows && l.cols > 1 &&
         (problem_.batch_count - 1) * l.step + l.rows <= l.ld;
}

GemmProblem StreamShape::packed_product(const IndexRange& piece) const {
  GemmProblem p = without_levels(problem_);
  p.location = Location::device;
  p.batch_count = piece.count;
  p.lda = layouts_[0].rows, p.ldb = layouts_[1].rows, p.ldc = layouts_[2].rows;
  if (is_interleaved(problem_)) {
    if (in_one_block(piece)) p.layout = Layout::interleaved, p.block = piece.count;
    return p;
  }
  p.layout = Layout::strided;
  std::int64_t* const lds[] = {&p.lda, &p.ldb, &p.ldc};
  std::int64_t* const strides[] = {&p.stride_a, &p.stride_b, &p.stride_c};
  for (const ProductMatrix which : product_matrices) {
    const auto i = std::size_t(which);
    const OperandLayout& l = layouts_[i];
    *strides[i] = is_shared(which) ? 0 : l.rows * l.cols;
    if (!are_bands(which)) continue;
    *lds[i] = l.rows * piece.count;
    *strides[i] = l.rows;
  }
  return p;
}

bool StreamShape::is_shared(ProductMatrix which) const {
  const OperandLayout& l = layout(which);
  return problem_.layout == Layout::strided && which != ProductMatrix::c && l.step == 0 &&
         l.levels.outer_step == 0 && l.levels.outermost_step == 0;
}

std::int64_t StreamShape::device_bytes(ProductMatrix which, std::int64_t problems) const {
  const OperandLayout& l = layout(which);
  return l.rows * l.cols * element_bytes() * (is_shared(which) ? 1 : problems);
}

std::int64_t StreamShape::gathered_items(ProductMatrix which, const IndexRange& piece) const {
  return is_interleaved(problem_) ? layout(which).cols : piece.count;
}

std::int64_t StreamShape::gathered_item_bytes(ProductMatrix which, const IndexRange& piece) const {
  const OperandLayout& l = layout(which);
  return l.rows * (is_interleaved(problem_) ? piece.count : l.cols) * element_bytes();
}

HostPart StreamShape::gathered_item(ProductMatrix which, const void* operand, const IndexRange& piece,
                                    std::int64_t i) const {
  const OperandLayout& l = layout(which);
  const std::int64_t es = element_bytes(), index = piece.first + i;
  if (is_interleaved(problem_)) {  // item i is column i of all problems
    const std::int64_t element =
        piece.first / problem_.block * l.step + piece.first % problem_.block + i * l.ld * problem_.block;
    return part_at(operand, element * es, problem_.block * es, {piece.count, l.rows, int(es)});
  }
  const BlockShape shape{l.rows, l.cols, int(es)};
  if (problem_.layout == Layout::pointer)
    return part_at(static_cast<const void* const*>(operand)[index], 0, l.ld * es, shape);
  return part_at(operand, l.offset(index) * es, l.ld * es, shape);
}

}  // namespace tilewright
