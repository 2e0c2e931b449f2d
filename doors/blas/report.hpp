// Bad arguments of names that no other library has, told as reference BLAS and CBLAS tell them: by xerbla,
// which a program may bring along.
#pragma once

#include "blas/counterpart.hpp"

namespace tilewright::blas {

// xerbla_ (xerbla_64_ of 64-bit integers) with the routine's name in capitals.
void report_fortran(const Counterpart& routine, int position);
// cblas_xerbla with the symbol.
void report_cblas(const Counterpart& routine, int position);

}  // namespace tilewright::blas
