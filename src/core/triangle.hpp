// The vocabulary of a triangular solve as in BLAS xTRSM: op(A) X = B or X op(A) = B with a triangular A. The
// implementation is chosen elsewhere.
#pragma once

#include <cstdint>

#include "tilewright/types.hpp"

namespace tilewright {

enum class Side : std::uint8_t { left, right };  // the side of X on which A stands
enum class Uplo : std::uint8_t { lower, upper };
enum class Diag : std::uint8_t { non_unit, unit };  // unit: the diagonal is 1 and is not read

struct Triangle {
  Side side = Side::left;
  Uplo uplo = Uplo::lower;
  Op op = Op::none;
  Diag diag = Diag::non_unit;

  // True if op(A) is lower triangular, which decides the order of the substitution.
  bool is_lower() const { return (uplo == Uplo::lower) == (op == Op::none); }
};

}  // namespace tilewright
