// Factors P A = L U of a distributed matrix by halves.
#pragma once

#include "scalapack/routines.hpp"

namespace tilewright::scalapack {

// Like pxGETRF, but by halves of columns down to blocks (Toledo 1997). Every element of the trailing matrix
// is then updated log2(n / NB) times with deep products instead of n / NB times with products of depth NB,
// which pays because the local part of C must be copied to a GPU and back for each of them. ScaLAPACK reports
// bad arguments.
template <class T>
void factor(const int* m, const int* n, T* a, const int* ia, const int* ja, const int* desc, int* pivots,
            int* info);

}  // namespace tilewright::scalapack
