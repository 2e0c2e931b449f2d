// The calls of tilewright/lu.hpp as LAPACK's arguments, which every door brings them to: sizes, addresses and
// leading dimensions. They check them and name the argument that is bad.
#pragma once

#include <cstdint>

#include "tilewright/lu.hpp"

namespace tilewright {

// LAPACK xGETRF. A is m x n with lda >= max(1, m) and is overwritten by L (below the diagonal; its own is 1)
// and U. pivots receives min(m, n) values: row i was swapped with row pivots[i - 1], both counted from 1.
template <class T>
LuReport lu_factor(Context& context, std::int64_t m, std::int64_t n, T* a, std::int64_t lda,
                   std::int64_t* pivots, const LuOptions& options = {});

// LAPACK xGETRS. Solves op(A) X = B with the factors and pivots of lu_factor; B is n x nrhs, ldb >= max(1,
// n), and is overwritten by X. A zero on U's diagonal gives infinities and NaN, as in LAPACK. B must not lie
// in A: at the same address it is refused.
template <class T>
void lu_solve(Context& context, Op op, std::int64_t n, std::int64_t nrhs, const T* a, std::int64_t lda,
              const std::int64_t* pivots, T* b, std::int64_t ldb, const LuOptions& options = {});

// LAPACK xGETRI. Overwrites the n x n factors by the inverse of A. Where U(i, i) is exactly zero, info is the
// first such i and nothing is written.
template <class T>
LuReport lu_inverse(Context& context, std::int64_t n, T* a, std::int64_t lda, const std::int64_t* pivots,
                    const LuOptions& options = {});

// LAPACK xGERFS without its forward bound: improves X by at most five steps of iterative refinement. A is the
// matrix before lu_factor, lu and pivots what became of it. A column's steps end when its backward error is
// below the machine's, or is no longer halved. X must lie apart from A, lu and B: at the address of one of
// them it is refused.
template <class T>
LuRefinement lu_refine(Context& context, Op op, std::int64_t n, std::int64_t nrhs, const T* a,
                       std::int64_t lda, const T* lu, std::int64_t ldlu, const std::int64_t* pivots,
                       const T* b, std::int64_t ldb, T* x, std::int64_t ldx, const LuOptions& options = {});

}  // namespace tilewright
