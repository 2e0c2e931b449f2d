// The calls of tilewright/lu.hpp with LAPACK's arguments, to which every door converts: sizes, addresses and
// leading dimensions. Errors name the argument. And the names of LU's enumerators, for printing and parsing.
#pragma once

#include <cstdint>

#include "core/problem.hpp"
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

// LAPACK xGETRI: overwrites the factors by inv(A). If a U(i, i) is zero, info is the first i; no writes.
template <class T>
LuReport lu_inverse(Context& context, std::int64_t n, T* a, std::int64_t lda, const std::int64_t* pivots,
                    const LuOptions& options = {});

// LAPACK xGERFS without its forward bound: improves X by at most five steps of iterative refinement. A is the
// matrix before lu_factor, lu and pivots its factors. A column's steps end when its backward error is below
// the machine's, or is no longer halved. X at the address of A, lu or B is refused.
template <class T>
LuRefinement lu_refine(Context& context, Op op, std::int64_t n, std::int64_t nrhs, const T* a,
                       std::int64_t lda, const T* lu, std::int64_t ldlu, const std::int64_t* pivots,
                       const T* b, std::int64_t ldb, T* x, std::int64_t ldx, const LuOptions& options = {});

TILEWRIGHT_NAMES(LuSelect, "panel", "square", "flops");

}  // namespace tilewright
