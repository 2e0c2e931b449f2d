// One product or batch of host operands as it is cut for streaming: along columns or rows of C or whole
// problems, which are shared out, and across them. Maps a piece to parts of the stored matrices, for all
// sides and ops, to host memory, and to its layout on a device.
#pragma once

#include <optional>
#include <vector>

#include "core/problem.hpp"
#include "gemm/hybrid/split/shares.hpp"
#include "gemm/hybrid/stream/stream_device.hpp"
#include "gemm/operand.hpp"

namespace tilewright {

struct IndexRange {
  std::int64_t first = 0, count = 0;
  std::int64_t end() const { return first + count; }
  friend bool operator==(const IndexRange&, const IndexRange&) = default;
};

// The part of the product that a step touches: `along` the columns of C (or rows, or problems) that are
// shared out, `across` its other dimension.
struct Piece {
  IndexRange across, along, k;
};

// A part of a stored matrix.
struct StoredBlock {
  std::int64_t row = 0, column = 0, rows = 0, columns = 0;
};

// A part of host memory that one copy moves.
struct HostPart {
  Block at;
  BlockShape shape;
};

class StreamShape {
 public:
  StreamShape(const GemmProblem& problem, SplitSide side)
      : problem_(problem), side_(side), layouts_(layouts_of(problem)) {}

  const GemmProblem& problem() const { return problem_; }
  bool is_batch() const { return side_ == SplitSide::problems; }
  std::int64_t along() const {
    return is_batch() ? problem_.batch_count : by_columns() ? problem_.n : problem_.m;
  }
  std::int64_t across() const { return by_columns() ? problem_.m : problem_.n; }
  std::int64_t k() const { return problem_.k; }
  std::int64_t element_bytes() const { return size_bytes(problem_.dtype); }
  bool reads_c() const { return problem_.beta != Scalar::zero; }
  // Borders between shares are multiples of this, and those between pieces of a batch.
  std::int64_t grain() const;

  const OperandLayout& layout(ProductMatrix which) const { return layouts_[std::size_t(which)]; }
  // Bytes from the base address to the end of the last matrix; 0 for pointers.
  std::int64_t span_bytes(ProductMatrix which) const;
  // Nothing if the piece is not one block of host memory: problems of a batch are then gathered one by one.
  std::optional<HostPart> block(ProductMatrix which, const void* operand, const Piece& piece) const;
  Piece whole(const IndexRange& along_part) const { return {{0, across()}, along_part, {0, k()}}; }

  // The operand of a single product that all tiles need, and the other one.
  ProductMatrix resident() const { return by_columns() ? ProductMatrix::a : ProductMatrix::b; }
  ProductMatrix streamed() const { return by_columns() ? ProductMatrix::b : ProductMatrix::a; }
  // The problems of a batch count as columns of C.
  StoredBlock stored(ProductMatrix which, const Piece& piece) const;
  // The piece that computes a block of C alone.
  Piece piece_of(const StoredBlock& c) const {
    const IndexRange rows{c.row, c.rows}, columns{c.column, c.columns};
    return by_columns() ? Piece{rows, columns, {0, k()}} : Piece{columns, rows, {0, k()}};
  }
  // The product of a piece alone, with the leading dimensions of host memory.
  GemmProblem part(const Piece& piece) const;

  // Cuts a batch into ranges of about `most` problems at most; interleaved: within a block, or whole blocks.
  std::vector<IndexRange> pieces(const IndexRange& range, std::int64_t most) const;
  // The product of a piece in device memory, where matrices lie packed.
  GemmProblem packed_product(const IndexRange& piece) const;
  // One matrix serves all problems; it is copied once.
  bool is_shared(ProductMatrix which) const;
  // Neither shared nor a C that is only written.
  bool comes_with_pieces(ProductMatrix which) const {
    return !is_shared(which) && (which != ProductMatrix::c || reads_c());
  }
  // The bytes in device memory; those of a shared matrix do not depend on `problems`.
  std::int64_t device_bytes(ProductMatrix which, std::int64_t problems) const;
  // The items by which a piece is gathered: their number, their bytes, and the place of item i.
  std::int64_t gathered_items(ProductMatrix which, const IndexRange& piece) const;
  std::int64_t gathered_item_bytes(ProductMatrix which, const IndexRange& piece) const;
  HostPart gathered_item(ProductMatrix which, const void* operand, const IndexRange& piece,
                         std::int64_t i) const;

 private:
  bool by_columns() const { return side_ == SplitSide::columns; }
  // Blocks of interleaved problems that are smaller than the batch.
  bool has_blocks() const { return is_interleaved(problem_) && problem_.block < problem_.batch_count; }
  bool in_one_block(const IndexRange& piece) const { return piece.count < problem_.block || !has_blocks(); }
  // The matrices are bands of rows of one larger matrix without gaps between the bands.
  bool are_bands(ProductMatrix which) const;

  GemmProblem problem_;
  SplitSide side_;
  OperandLayouts layouts_;
};

// Inline: called for each step of the thousands of schedules that a plan may try.
inline StoredBlock StreamShape::stored(ProductMatrix which, const Piece& piece) const {
  if (is_batch()) return {0, piece.along.first, 1, piece.along.count};
  const IndexRange &m = by_columns() ? piece.across : piece.along,
                   &n = by_columns() ? piece.along : piece.across;
  const auto block = [](const IndexRange& rows, const IndexRange& columns, Op op) {
    return op == Op::none ? StoredBlock{rows.first, columns.first, rows.count, columns.count}
                          : StoredBlock{columns.first, rows.first, columns.count, rows.count};
  };
  if (which == ProductMatrix::c) return block(m, n, Op::none);
  return which == ProductMatrix::a ? block(m, piece.k, problem_.op_a) : block(piece.k, n, problem_.op_b);
}

inline GemmProblem StreamShape::part(const Piece& piece) const {
  GemmProblem p = problem_;
  p.m = by_columns() ? piece.across.count : piece.along.count;
  p.n = by_columns() ? piece.along.count : piece.across.count;
  p.k = piece.k.count;
  return p;
}

inline void* address_of(const Operands& o, ProductMatrix which) {
  return which == ProductMatrix::c ? o.c : const_cast<void*>(which == ProductMatrix::a ? o.a : o.b);
}

}  // namespace tilewright
