// A long multiplication cut into pieces of about half a second, so that its progress can be shown. Short ones
// stay whole, and so do interleaved batches, whose one block cannot be cut.
#pragma once

#include <vector>

#include "tilewright/problem.hpp"

namespace tilewright::cli {

// A part of a problem and where its operands begin, in elements from those of the whole.
struct Piece {
  GemmProblem problem;
  std::int64_t a_offset = 0;
  std::int64_t b_offset = 0;
  std::int64_t c_offset = 0;
};

// `seconds` is the expected time of the whole. Batches are cut into runs of problems, single products into
// columns of C.
std::vector<Piece> cut_into_pieces(const GemmProblem& problem, double seconds);

}  // namespace tilewright::cli
