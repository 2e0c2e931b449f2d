// Cuts long multiplications.
#include "arrays/gemm_pieces.hpp"

#include <algorithm>
#include <cmath>

namespace tilewright::cli {

namespace {

constexpr double whole_s = 2;  // shorter work is not cut and shows no progress
constexpr double piece_s = 0.5;
// Narrower strips of C would slow a CBLAS down too much.
constexpr std::int64_t fewest_columns = 256;

Piece piece_of(const GemmProblem& whole, bool by_problems, std::int64_t first, std::int64_t count) {
  Piece piece;
  piece.problem = whole;
  if (by_problems) {
    piece.problem.batch_count = count;
    piece.a_offset = first * whole.stride_a;
    piece.b_offset = first * whole.stride_b;
    piece.c_offset = first * whole.stride_c;
  } else {
    piece.problem.n = count;
    piece.b_offset = whole.op_b == Op::none ? first * whole.ldb : first;
    piece.c_offset = first * whole.ldc;
  }
  return piece;
}

}  // namespace

std::vector<Piece> cut_into_pieces(const GemmProblem& problem, double seconds) {
  const bool by_problems = problem.layout == Layout::strided && problem.batch_count > 1;
  if (seconds < whole_s || (!by_problems && problem.layout != Layout::single)) return {{problem}};
  const std::int64_t total = by_problems ? problem.batch_count : problem.n;
  const auto wanted = static_cast<std::int64_t>(std::ceil(double(total) * piece_s / seconds));
  const std::int64_t step = std::max<std::int64_t>(by_problems ? 1 : fewest_columns, wanted);
  std::vector<Piece> pieces;
  for (std::int64_t first = 0; first < total; first += step)
    pieces.push_back(piece_of(problem, by_problems, first, std::min(step, total - first)));
  return pieces;
}

}  // namespace tilewright::cli
