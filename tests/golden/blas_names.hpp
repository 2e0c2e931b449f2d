// The names of libtilewright_blas that blas_messages.cpp calls, as a program in C declares them: no header of
// ours has those of every BLAS.
#pragma once

#include <complex>
#include <cstdint>

using Doubles = const double* const*;
using Complexes = std::complex<double>;

extern "C" {
void dgemm_(const char*, const char*, const int*, const int*, const int*, const double*, const double*,
            const int*, const double*, const int*, const double*, double*, const int*);
void dgemm_64_(const char*, const char*, const std::int64_t*, const std::int64_t*, const std::int64_t*,
               const double*, const double*, const std::int64_t*, const double*, const std::int64_t*,
               const double*, double*, const std::int64_t*);
void cblas_dgemm(int, int, int, int, int, int, double, const double*, int, const double*, int, double,
                 double*, int);
void dsyrk_(const char*, const char*, const int*, const int*, const double*, const double*, const int*,
            const double*, double*, const int*);
void cblas_dsyrk(int, int, int, int, int, double, const double*, int, double, double*, int);
void zherk_(const char*, const char*, const int*, const int*, const double*, const Complexes*, const int*,
            const double*, Complexes*, const int*);
void cblas_zherk(int, int, int, int, int, double, const void*, int, double, void*, int);
void dgemmt_(const char*, const char*, const char*, const int*, const int*, const double*, const double*,
             const int*, const double*, const int*, const double*, double*, const int*);
void cblas_dgemmt(int, int, int, int, int, int, double, const double*, int, const double*, int, double,
                  double*, int);
void dgemm_batch_(const char*, const char*, const int*, const int*, const int*, const double*, Doubles,
                  const int*, Doubles, const int*, const double*, double* const*, const int*, const int*,
                  const int*);
void cblas_dgemm_batch(int, const int*, const int*, const int*, const int*, const int*, const double*,
                       Doubles, const int*, Doubles, const int*, const double*, double* const*, const int*,
                       int, const int*);
void dgemm_batch_strided_(const char*, const char*, const int*, const int*, const int*, const double*,
                          const double*, const int*, const int*, const double*, const int*, const int*,
                          const double*, double*, const int*, const int*, const int*);
void cblas_dgemm_batch_strided(int, int, int, int, int, int, double, const double*, int, int, const double*,
                               int, int, double, double*, int, int, int);
void blas_dgemm_batch(int, const int*, int, const int*, const int*, const int*, const int*, const int*,
                      const double*, Doubles, const int*, Doubles, const int*, const double*, double* const*,
                      const int*, int*);
void blas_dgemm_batchf(int, int, int, int, int, int, int, double, Doubles, int, Doubles, int, double,
                       double* const*, int, int*);
void dgetrf_(const int*, const int*, double*, const int*, int*, int*);
void dgetrs_(const char*, const int*, const int*, const double*, const int*, const int*, double*, const int*,
             int*);
void dgesv_(const int*, const int*, double*, const int*, int*, double*, const int*, int*);
int LAPACKE_dgetrf(int, int, int, double*, int, int*);
int LAPACKE_dgetrs(int, char, int, int, const double*, int, const int*, double*, int);
int LAPACKE_dgesv(int, int, int, double*, int, int*, double*, int);
}
