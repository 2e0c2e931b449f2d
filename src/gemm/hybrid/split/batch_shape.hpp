// A batch in host memory as it is cut into pieces for GPUs: which bytes of each operand are a piece's, how
// they lie in device memory, and which product that makes. Matrices lie packed there, whatever gaps and
// pointers the host's have. It holds no addresses and knows nothing of devices or times.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "gemm/hybrid/split/shape.hpp"
#include "gemm/operand.hpp"

namespace tilewright {

enum class BatchMatrix : std::uint8_t { a, b, c };
inline constexpr std::array batch_matrices{BatchMatrix::a, BatchMatrix::b, BatchMatrix::c};

// What a copy engine takes in one copy, from the base address on.
struct BatchBlock {
  std::int64_t offset_bytes = 0, pitch_bytes = 0;
  std::int64_t rows = 0, columns = 0;  // of elements
};

class BatchShape {
 public:
  explicit BatchShape(const GemmProblem& problem);

  const GemmProblem& problem() const { return problem_; }
  std::int64_t element_bytes() const { return size_bytes(problem_.dtype); }
  bool reads_c() const { return problem_.beta != Scalar::zero; }

  // Borders between shares and pieces are multiples of this.
  std::int64_t grain() const;
  // Of at most about `most` problems; of interleaved ones each lies within one block, or is made of whole
  // ones.
  std::vector<IndexRange> pieces(const IndexRange& range, std::int64_t most) const;

  // The product of a piece, in device memory.
  GemmProblem product(const IndexRange& piece) const;
  // That the operand takes in device memory; of a shared one whatever the piece.
  std::int64_t device_bytes(BatchMatrix which, std::int64_t problems) const;

  // Whether one matrix serves all problems; it is copied once.
  bool is_shared(BatchMatrix which) const;
  // Nothing where the piece is no block: it is gathered, problem by problem.
  std::optional<BatchBlock> block(BatchMatrix which, const IndexRange& piece) const;
  // How many parts gathering a piece has, and bytes each.
  std::int64_t gathered_items(BatchMatrix which, const IndexRange& piece) const;
  std::int64_t gathered_item_bytes(BatchMatrix which, const IndexRange& piece) const;
  // Copies parts between the host's operand and the packed piece.
  void gather(BatchMatrix which, const void* operand, const IndexRange& piece, const IndexRange& items,
              void* packed) const;
  void scatter(BatchMatrix which, void* operand, const IndexRange& piece, const IndexRange& items,
               const void* packed) const;
  // From the base address to the end of the last matrix; 0 where pointers say where they lie.
  std::int64_t span_bytes(BatchMatrix which) const;

 private:
  const OperandLayout& layout(BatchMatrix which) const { return layouts_[std::size_t(which)]; }
  // Whether matrices of the batch are bands of rows of one larger matrix without gaps between the bands.
  bool are_bands(BatchMatrix which) const;
  bool in_one_block(const IndexRange& piece) const;
  void copy(BatchMatrix which, const void* operand, const IndexRange& piece, const IndexRange& items,
            void* packed, bool to_packed) const;

  GemmProblem problem_;
  std::array<OperandLayout, 3> layouts_;
};

}  // namespace tilewright
