// Address arithmetic of pieces, for each way in which the problems of a batch follow one another.
#include "gemm/hybrid/split/batch_shape.hpp"

#include <algorithm>
#include <cstring>

#include "gemm/hybrid/stream/copy_team.hpp"

namespace tilewright {
namespace {

// Kernels that hold several problems in one vector have no tail at such borders; it is also a cache line of
// interleaved doubles and more.
constexpr std::int64_t usual_grain = 16;

}  // namespace

BatchShape::BatchShape(const GemmProblem& problem)
    : problem_(problem), layouts_{layout_a(problem), layout_b(problem), layout_c(problem)} {}

std::int64_t BatchShape::grain() const {
  const bool has_blocks = is_interleaved(problem_) && problem_.block < problem_.batch_count;
  if (has_blocks) return problem_.block;
  return is_interleaved(problem_) || problem_.batch_count >= 16 * usual_grain ? usual_grain : 1;
}

std::vector<IndexRange> BatchShape::pieces(const IndexRange& range, std::int64_t most) const {
  const std::int64_t each = std::max(grain(), most / grain() * grain());
  std::vector<IndexRange> all;
  for (std::int64_t first = range.first; first < range.end(); first += each)
    all.push_back({first, std::min(each, range.end() - first)});
  // The last block of a batch may be used in part: what there is of it is a piece of its own.
  const bool has_blocks = is_interleaved(problem_) && problem_.block < problem_.batch_count;
  if (!has_blocks || all.empty()) return all;
  IndexRange& last = all.back();
  const std::int64_t rest = last.count % problem_.block;
  if (rest > 0 && rest < last.count) {
    last.count -= rest;
    all.push_back({last.end(), rest});
  }
  return all;
}

bool BatchShape::in_one_block(const IndexRange& piece) const {
  return piece.count < problem_.block || problem_.block >= problem_.batch_count;
}

bool BatchShape::are_bands(BatchMatrix which) const {
  const OperandLayout& l = layout(which);
  return problem_.layout == Layout::strided && !has_levels(problem_) && l.step == l.rows && l.cols > 1 &&
         (problem_.batch_count - 1) * l.step + l.rows <= l.ld;
}

GemmProblem BatchShape::product(const IndexRange& piece) const {
  GemmProblem p = without_levels(problem_);
  p.location = Location::device;
  p.batch_count = piece.count;
  p.lda = layout(BatchMatrix::a).rows, p.ldb = layout(BatchMatrix::b).rows,
  p.ldc = layout(BatchMatrix::c).rows;
  if (is_interleaved(problem_)) {
    if (in_one_block(piece)) p.layout = Layout::interleaved, p.block = piece.count;
    return p;
  }
  p.layout = Layout::strided;
  std::int64_t* const lds[] = {&p.lda, &p.ldb, &p.ldc};
  std::int64_t* const strides[] = {&p.stride_a, &p.stride_b, &p.stride_c};
  for (std::size_t i = 0; i < batch_matrices.size(); ++i) {
    const OperandLayout& l = layouts_[i];
    *strides[i] = is_shared(batch_matrices[i]) ? 0 : l.rows * l.cols;
    if (!are_bands(batch_matrices[i])) continue;
    *lds[i] = l.rows * piece.count;
    *strides[i] = l.rows;
  }
  return p;
}

bool BatchShape::is_shared(BatchMatrix which) const {
  const OperandLayout& l = layout(which);
  return problem_.layout == Layout::strided && which != BatchMatrix::c && l.step == 0 &&
         l.levels.outer_step == 0 && l.levels.outermost_step == 0;
}

std::int64_t BatchShape::device_bytes(BatchMatrix which, std::int64_t problems) const {
  const OperandLayout& l = layout(which);
  return l.rows * l.cols * element_bytes() * (is_shared(which) ? 1 : problems);
}

std::optional<BatchBlock> BatchShape::block(BatchMatrix which, const IndexRange& piece) const {
  const OperandLayout& l = layout(which);
  const std::int64_t es = element_bytes();
  if (is_shared(which)) return BatchBlock{0, l.ld * es, l.rows, l.cols};
  if (problem_.layout == Layout::pointer) return std::nullopt;
  if (is_interleaved(problem_)) {
    const std::int64_t in_block = problem_.block;
    const std::int64_t offset = (piece.first / in_block * l.step + piece.first % in_block) * es;
    if (!in_one_block(piece))
      return BatchBlock{offset, in_block * l.ld * es, in_block * l.rows, l.cols * (piece.count / in_block)};
    if (l.ld != l.rows && l.cols > 1) return std::nullopt;
    return BatchBlock{offset, in_block * es, piece.count, l.rows * l.cols};
  }
  const std::int64_t offset = l.offset(piece.first) * es;
  if (are_bands(which)) return BatchBlock{offset, l.ld * es, l.rows * piece.count, l.cols};
  if ((l.step == l.ld * l.cols && !has_levels(problem_)) || piece.count == 1)
    return BatchBlock{offset, l.ld * es, l.rows, l.cols * piece.count};
  return std::nullopt;
}

std::int64_t BatchShape::gathered_items(BatchMatrix which, const IndexRange& piece) const {
  return is_interleaved(problem_) ? layout(which).cols : piece.count;
}

std::int64_t BatchShape::gathered_item_bytes(BatchMatrix which, const IndexRange& piece) const {
  const OperandLayout& l = layout(which);
  return l.rows * (is_interleaved(problem_) ? piece.count : l.cols) * element_bytes();
}

void BatchShape::copy(BatchMatrix which, const void* operand, const IndexRange& piece,
                      const IndexRange& items, void* packed, bool to_packed) const {
  const OperandLayout& l = layout(which);
  const std::int64_t es = element_bytes(), item_bytes = gathered_item_bytes(which, piece);
  for (std::int64_t i = items.first; i < items.end(); ++i) {
    char* const at = static_cast<char*>(packed) + i * item_bytes;
    HostBlockCopy block;
    if (is_interleaved(problem_)) {  // item i is column i of all problems
      const std::int64_t element =
          piece.first / problem_.block * l.step + piece.first % problem_.block + i * l.ld * problem_.block;
      block.from = static_cast<const char*>(operand) + element * es;
      block.from_pitch = problem_.block * es;
      block.column_bytes = piece.count * es, block.columns = l.rows;
    } else {
      const bool pointers = problem_.layout == Layout::pointer;
      const std::int64_t index = piece.first + i;
      block.from = pointers ? static_cast<const char* const*>(operand)[index]
                            : static_cast<const char*>(operand) + l.offset(index) * es;
      block.from_pitch = l.ld * es;
      block.column_bytes = l.rows * es, block.columns = l.cols;
    }
    block.to = at, block.to_pitch = block.column_bytes;
    if (!to_packed) {
      block.to = const_cast<char*>(block.from), block.from = at;
      std::swap(block.to_pitch, block.from_pitch);
    }
    copy_block(block);
  }
}

void BatchShape::gather(BatchMatrix which, const void* operand, const IndexRange& piece,
                        const IndexRange& items, void* packed) const {
  copy(which, operand, piece, items, packed, true);
}

void BatchShape::scatter(BatchMatrix which, void* operand, const IndexRange& piece, const IndexRange& items,
                         const void* packed) const {
  copy(which, operand, piece, items, const_cast<void*>(packed), false);
}

std::int64_t BatchShape::span_bytes(BatchMatrix which) const {
  const OperandLayout& l = layout(which);
  if (problem_.layout == Layout::pointer) return 0;
  if (is_interleaved(problem_))
    return (problem_.batch_count + problem_.block - 1) / problem_.block * l.step * element_bytes();
  if (problem_.batch_count == 0) return 0;
  return (l.offset(problem_.batch_count - 1) + (l.cols - 1) * l.ld + l.rows) * element_bytes();
}

}  // namespace tilewright
