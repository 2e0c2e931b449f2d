// Lists every name that the library of BLAS symbols exports, once: the routines, their element types, and
// their spellings with 32-bit and 64-bit integers. Code, the linker's map (cmake/tilewright_blas.map.in) and
// the tests are made from these lists, so this file holds macros alone.
#pragma once

// SPELL_convention_width(X, routine, ...): X(symbol, ...) for each spelling of a routine such as dgemm, that
// of reference BLAS first: LP64 plain and as in SciPy's wheels; ILP64 with the suffix 64_ of OpenBLAS (which
// makes dgemm_64_, the name of reference LAPACK too), that of NumPy's wheels, and _64 of CBLAS.
#define SPELL_fortran_int(X, r, ...) X(r##_, __VA_ARGS__) X(scipy_##r##_, __VA_ARGS__)
#define SPELL_fortran_long(X, r, ...) X(r##_64_, __VA_ARGS__) X(scipy_##r##_64_, __VA_ARGS__)
#define SPELL_cblas_int(X, r, ...) X(cblas_##r, __VA_ARGS__) X(scipy_cblas_##r, __VA_ARGS__)
#define SPELL_cblas_long(X, r, ...) \
  X(cblas_##r##64_, __VA_ARGS__) X(scipy_cblas_##r##64_, __VA_ARGS__) X(cblas_##r##_64, __VA_ARGS__)
#define SPELL_lapacke_int(X, r, ...) X(LAPACKE_##r, __VA_ARGS__) X(scipy_LAPACKE_##r, __VA_ARGS__)
#define SPELL_lapacke_long(X, r, ...) \
  X(LAPACKE_##r##64_, __VA_ARGS__) X(scipy_LAPACKE_##r##64_, __VA_ARGS__) X(LAPACKE_##r##_64, __VA_ARGS__)
// oneMKL's own names have an underscore or none.
#define SPELL_mkl_int(X, r, ...) X(r##_, __VA_ARGS__) X(r, __VA_ARGS__)
#define SPELL_mkl_long(X, r, ...) X(r##_64_, __VA_ARGS__) X(r##_64, __VA_ARGS__)
// The Batched BLAS standard has int alone.
#define SPELL_bblas_int(X, r, ...) X(blas_##r, __VA_ARGS__)
#define SPELL_bblas_long(X, r, ...)

// TYPES_letters(M, routine, ...): M(routine with its letter, element type, ...).
#define TYPES_sdcz(M, r, ...)               \
  M(s##r, float, __VA_ARGS__)               \
  M(d##r, double, __VA_ARGS__)              \
  M(c##r, std::complex<float>, __VA_ARGS__) \
  M(z##r, std::complex<double>, __VA_ARGS__)
#define TYPES_cz(M, r, ...)                 \
  M(c##r, std::complex<float>, __VA_ARGS__) \
  M(z##r, std::complex<double>, __VA_ARGS__)

// ROUTINE(convention, letters, name) for all of them.
#define TILEWRIGHT_BLAS_ROUTINES(ROUTINE)    \
  ROUTINE(fortran, sdcz, gemm)               \
  ROUTINE(cblas, sdcz, gemm)                 \
  ROUTINE(fortran, sdcz, syrk)               \
  ROUTINE(cblas, sdcz, syrk)                 \
  ROUTINE(fortran, cz, herk)                 \
  ROUTINE(cblas, cz, herk)                   \
  ROUTINE(fortran, sdcz, gemmt)              \
  ROUTINE(cblas, sdcz, gemmt)                \
  ROUTINE(fortran, sdcz, gemm_batch)         \
  ROUTINE(cblas, sdcz, gemm_batch)           \
  ROUTINE(fortran, sdcz, gemm_batch_strided) \
  ROUTINE(cblas, sdcz, gemm_batch_strided)   \
  ROUTINE(bblas, sdcz, gemm_batch)           \
  ROUTINE(bblas, sdcz, gemm_batchf)          \
  ROUTINE(bblas, sdcz, trsm_batch)           \
  ROUTINE(bblas, sdcz, trsm_batchf)          \
  ROUTINE(mkl, sdcz, getrf_batch_strided)    \
  ROUTINE(mkl, sdcz, getrs_batch_strided)    \
  ROUTINE(fortran, sdcz, getrf)              \
  ROUTINE(lapacke, sdcz, getrf)              \
  ROUTINE(fortran, sdcz, getrs)              \
  ROUTINE(lapacke, sdcz, getrs)              \
  ROUTINE(fortran, sdcz, gesv)               \
  ROUTINE(lapacke, sdcz, gesv)
