// Computes whole factorizations on GPUs by libtilewright; every process needs one: on a grid of one row the
// columns lie as tilewright_lu_factor_cyclic expects them, and processes exchange only finished blocks.
#pragma once

#include "scalapack/routines.hpp"

namespace tilewright::scalapack {

// GPUs are not used if m x n x min(m, n) is below this value; tests lower it.
extern double least_work_on_gpus;

// Like pxGETRF for a valid submatrix, with info of this process's own columns. Returns false, with nothing
// done, if the grid, the block size or the work is unsuitable, or one process cannot take part: the answer is
// the same on all processes.
template <class T>
bool factor_on_gpus(int m, int n, T* a, int ia, int ja, const int* desc, int* pivots, int* info);

}  // namespace tilewright::scalapack
