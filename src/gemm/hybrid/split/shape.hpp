// One product of host operands as it is cut for streaming: along the dimension of C that is shared out, and
// across it. Which part of which stored matrix a piece is, for both sides and all ops. It holds no addresses
// and knows nothing of devices or times.
#pragma once

#include "core/problem.hpp"
#include "gemm/hybrid/split/shares.hpp"

namespace tilewright {

struct IndexRange {
  std::int64_t first = 0, count = 0;
  std::int64_t end() const { return first + count; }
  friend bool operator==(const IndexRange&, const IndexRange&) = default;
};

// What is touched of the product: `along` counts the columns of C that are shared out (rows, where those
// are), `across` its other dimension.
struct Piece {
  IndexRange across, along, k;
};

// A part of a stored matrix.
struct StoredBlock {
  std::int64_t row = 0, column = 0, rows = 0, columns = 0;
};

class StreamShape {
 public:
  StreamShape(const GemmProblem& problem, SplitSide side) : problem_(problem), side_(side) {}

  const GemmProblem& problem() const { return problem_; }
  bool by_columns() const { return side_ == SplitSide::columns; }
  std::int64_t along() const { return by_columns() ? problem_.n : problem_.m; }
  std::int64_t across() const { return by_columns() ? problem_.m : problem_.n; }
  std::int64_t k() const { return problem_.k; }
  std::int64_t element_bytes() const { return size_bytes(problem_.dtype); }
  bool reads_c() const { return problem_.beta != Scalar::zero; }

  // The operand that all tiles need is A where columns are shared out, else B.
  StoredBlock resident(const IndexRange& across, const IndexRange& k) const {
    return block(by_columns() == (resident_op() == Op::none), across, k);
  }
  StoredBlock streamed(const IndexRange& along, const IndexRange& k) const {
    return block(by_columns() != (streamed_op() == Op::none), along, k);
  }
  StoredBlock c(const IndexRange& across, const IndexRange& along) const {
    return block(by_columns(), across, along);
  }
  std::int64_t resident_ld() const { return by_columns() ? problem_.lda : problem_.ldb; }
  std::int64_t streamed_ld() const { return by_columns() ? problem_.ldb : problem_.lda; }

  // The product of a piece alone, without leading dimensions.
  GemmProblem part(const Piece& piece) const {
    GemmProblem p = problem_;
    p.m = by_columns() ? piece.across.count : piece.along.count;
    p.n = by_columns() ? piece.along.count : piece.across.count;
    p.k = piece.k.count;
    return p;
  }
  Piece whole(const IndexRange& along_part) const { return {{0, across()}, along_part, {0, k()}}; }

 private:
  Op resident_op() const { return by_columns() ? problem_.op_a : problem_.op_b; }
  Op streamed_op() const { return by_columns() ? problem_.op_b : problem_.op_a; }
  static StoredBlock block(bool x_is_rows, const IndexRange& x, const IndexRange& y) {
    return x_is_rows ? StoredBlock{x.first, y.first, x.count, y.count}
                     : StoredBlock{y.first, x.first, y.count, x.count};
  }

  GemmProblem problem_;
  SplitSide side_;
};

}  // namespace tilewright
