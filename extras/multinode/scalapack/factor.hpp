// P A = L U of a distributed matrix by halves.
#pragma once

#include "scalapack/routines.hpp"

namespace tilewright::scalapack {

// As pxGETRF, by halves of columns down to blocks (Toledo 1997). Every element of the trailing matrix is then
// updated log2(n / NB) times with deep products instead of n / NB times with products of depth NB, which is
// what pays where the local part of C has to go to a GPU and back for each of them. Bad arguments are left to
// ScaLAPACK, which reports them.
template <class T>
void factor(const int* m, const int* n, T* a, const int* ia, const int* ja, const int* desc, int* pivots,
            int* info);

}  // namespace tilewright::scalapack
