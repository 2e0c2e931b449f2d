/// @file
/// The names of what batched calls compute of small dense matrices (tilewright/factor.hpp).
/// @par Threads Values of these types may be used by any thread.
/// @par Errors Nothing here throws.
#pragma once

#include <cstdint>

namespace tilewright {
inline namespace v0_2 {

/// A computation on each problem of a batch, by the name of its LAPACK or BLAS routine; inv and det have
/// none.
enum class Routine : std::uint8_t {
  potrf,
  potrs,
  posv,
  potri,
  getrf,
  getrs,
  gesv,
  getri,
  inv,
  det,
  trsm,
  geqrf,
  ormqr,
  gels,
  syev,
  gesvd
};

/// partial: rows are exchanged as LAPACK exchanges them. none: rows stay, which is stable for matrices that
/// are diagonally dominant or positive definite; no pivots are read or written.
enum class Pivoting : std::uint8_t { partial, none };

}  // namespace v0_2
}  // namespace tilewright
