// The definition of LU with partial pivoting in plain loops: right-looking, a column at a time. As a
// candidate it is the last one; the blocked algorithm ends its recursion with it.
#pragma once

#include <cstdint>

namespace tilewright {

// A (m x n) becomes L and U; pivots receives min(m, n) values counted from 1. Returns the first zero pivot,
// counted from 1, or 0.
template <class T>
std::int64_t factor_reference(std::int64_t m, std::int64_t n, T* a, std::int64_t lda, std::int64_t* pivots);

}  // namespace tilewright
