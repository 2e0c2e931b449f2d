// Reports bad arguments of names that no other library has, as reference BLAS and CBLAS do: by xerbla, which
// the program may define.
#pragma once

#include "blas/counterpart.hpp"

namespace tilewright::blas {

// Calls xerbla_ (xerbla_64_ for 64-bit integers) with the routine's name in capitals.
void report_fortran(const Counterpart& routine, int position);
// Calls cblas_xerbla with the symbol.
void report_cblas(const Counterpart& routine, int position);

}  // namespace tilewright::blas
