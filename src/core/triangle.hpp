// The words of a triangular solve, as BLAS xTRSM has them: op(A) X = B or X op(A) = B with A a triangle. They
// say nothing of who solves.
#pragma once

#include <cstdint>

#include "tilewright/types.hpp"

namespace tilewright {

enum class Side : std::uint8_t { left, right };  // where A stands beside X
enum class Uplo : std::uint8_t { lower, upper };
enum class Diag : std::uint8_t { non_unit, unit };  // unit: its diagonal is 1 and is not read

struct Triangle {
  Side side = Side::left;
  Uplo uplo = Uplo::lower;
  Op op = Op::none;
  Diag diag = Diag::non_unit;

  // Of op(A): what the order of solving depends on.
  bool is_lower() const { return (uplo == Uplo::lower) == (op == Op::none); }
};

}  // namespace tilewright
