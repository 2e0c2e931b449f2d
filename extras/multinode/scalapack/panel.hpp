// The steps of pxGETRF that a grid of one row of processes does without communication: finding pivots and
// swapping rows.
#pragma once

#include "scalapack/routines.hpp"

namespace tilewright::scalapack {

// Like pxGETF2: factors a panel of one block's columns, by LAPACK if the grid has one row.
template <class T>
void factor_panel(const int* m, const int* n, T* a, const int* ia, const int* ja, const int* desc,
                  int* pivots, int* info);

// Like pxLASWP: swaps rows or columns, rows by LAPACK if the grid has one row.
template <class T>
void swap(const char* direction, const char* what, const int* n, T* a, const int* ia, const int* ja,
          const int* desc, const int* k1, const int* k2, const int* pivots);

}  // namespace tilewright::scalapack
