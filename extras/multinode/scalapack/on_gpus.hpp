// Whole factorizations on GPUs by libtilewright, of which every process needs one: on a grid of one row the
// columns lie as tilewright_lu_factor_cyclic has them, and all that processes send each other is finished
// blocks.
#pragma once

#include "scalapack/routines.hpp"

namespace tilewright::scalapack {

// m x n x min(m, n) below which a GPU is not looked for; a test asks for less.
extern double least_work_on_gpus;

// As pxGETRF of a sound submatrix, with info of this process's own columns. False, and nothing done, where
// the grid, the block size or the work is not for it, or one process cannot take part: all processes then
// have the same answer.
template <class T>
bool factor_on_gpus(int m, int n, T* a, int ia, int ja, const int* desc, int* pivots, int* info);

}  // namespace tilewright::scalapack
