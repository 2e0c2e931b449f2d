/** @file
 * The batched products and triangular systems of libtilewright_blas, whose names no common header declares;
 * programs declare the BLAS and LAPACK names by cblas.h, lapacke.h or their own headers. docs/blas.md lists
 * all names.
 * @par Units Integers are int and count elements; with the suffix _64 (cblas_dgemm_batch_64) they are
 * int64_t, in names that are not declared here. Matrices lie as `layout` says (101 by rows, 102 by columns),
 * operations are 111 (none), 112 (transposed), 113 (conjugated and transposed), as in cblas.h. Complex
 * scalars and matrices are passed as void*.
 * @par Memory The caller owns all memory, which a call keeps none of. No two problems of a call may have a
 * part of C in common.
 * @par Threads Any number of threads may call at once, on different C.
 * @par Errors The cblas functions report a bad argument to cblas_xerbla and compute nothing; the blas
 * functions report codes in info. Products that the
 *   library declines are computed by the next BLAS of the process, or by plain loops. */
#ifndef TILEWRIGHT_BLAS_H
#define TILEWRIGHT_BLAS_H

#ifdef __cplusplus
extern "C" {
#endif

/** Returns the version, such as "0.2.0". No other BLAS has this name: it shows that this library serves. */
const char* tilewright_blas_version(void);

/** Groups of equal shape, in the order of arguments of oneMKL, OpenBLAS and BLIS: one entry per group in each
 * array but a, b and c, which have one per problem. */
void cblas_sgemm_batch(int layout, const int* op_a, const int* op_b, const int* m, const int* n, const int* k,
                       const float* alpha, const float** a, const int* lda, const float** b, const int* ldb,
                       const float* beta, float** c, const int* ldc, int group_count, const int* group_size);
void cblas_dgemm_batch(int layout, const int* op_a, const int* op_b, const int* m, const int* n, const int* k,
                       const double* alpha, const double** a, const int* lda, const double** b,
                       const int* ldb, const double* beta, double** c, const int* ldc, int group_count,
                       const int* group_size);
void cblas_cgemm_batch(int layout, const int* op_a, const int* op_b, const int* m, const int* n, const int* k,
                       const void* alpha, const void** a, const int* lda, const void** b, const int* ldb,
                       const void* beta, void** c, const int* ldc, int group_count, const int* group_size);
void cblas_zgemm_batch(int layout, const int* op_a, const int* op_b, const int* m, const int* n, const int* k,
                       const void* alpha, const void** a, const int* lda, const void** b, const int* ldb,
                       const void* beta, void** c, const int* ldc, int group_count, const int* group_size);

/** A batch at equal distances: problem p has its A stride_a elements behind that of problem p - 1, and so on.
 */
void cblas_sgemm_batch_strided(int layout, int op_a, int op_b, int m, int n, int k, float alpha,
                               const float* a, int lda, int stride_a, const float* b, int ldb, int stride_b,
                               float beta, float* c, int ldc, int stride_c, int batch_size);
void cblas_dgemm_batch_strided(int layout, int op_a, int op_b, int m, int n, int k, double alpha,
                               const double* a, int lda, int stride_a, const double* b, int ldb, int stride_b,
                               double beta, double* c, int ldc, int stride_c, int batch_size);
void cblas_cgemm_batch_strided(int layout, int op_a, int op_b, int m, int n, int k, const void* alpha,
                               const void* a, int lda, int stride_a, const void* b, int ldb, int stride_b,
                               const void* beta, void* c, int ldc, int stride_c, int batch_size);
void cblas_zgemm_batch_strided(int layout, int op_a, int op_b, int m, int n, int k, const void* alpha,
                               const void* a, int lda, int stride_a, const void* b, int ldb, int stride_b,
                               const void* beta, void* c, int ldc, int stride_c, int batch_size);

/** Groups, and one group of one shape, as in the Batched BLAS standard. info[0] selects on entry what info
 * receives: 0 a code per problem, 1 per group, 2 one for the call, 3 nothing (info[0] is 0 afterwards if
 * products were computed, 3 if the layout or a group's size is bad, and 1, as always, if group_count is
 * negative). A code is 0, or the position of the bad argument of blas_?gemm_batch: group_count 1, group_sizes
 * 2, layout 3, transa 4, transb 5, m 6, n 7, k 8, a 10, lda 11, b 12, ldb 13, c 15, ldc 16, info 17. Bad
 * problems are left as they are, the others are computed; if info[0] has another value on entry, it becomes
 * 17 and nothing is computed.
 * @see Dongarra et al. 2017; NLAFET/BBLAS */
void blas_sgemm_batch(int group_count, const int* group_sizes, int layout, const int* transa,
                      const int* transb, const int* m, const int* n, const int* k, const float* alpha,
                      float const* const* a, const int* lda, float const* const* b, const int* ldb,
                      const float* beta, float** c, const int* ldc, int* info);
void blas_dgemm_batch(int group_count, const int* group_sizes, int layout, const int* transa,
                      const int* transb, const int* m, const int* n, const int* k, const double* alpha,
                      double const* const* a, const int* lda, double const* const* b, const int* ldb,
                      const double* beta, double** c, const int* ldc, int* info);
void blas_sgemm_batchf(int group_size, int layout, int transa, int transb, int m, int n, int k, float alpha,
                       float const* const* a, int lda, float const* const* b, int ldb, float beta, float** c,
                       int ldc, int* info);
void blas_dgemm_batchf(int group_size, int layout, int transa, int transb, int m, int n, int k, double alpha,
                       double const* const* a, int lda, double const* const* b, int ldb, double beta,
                       double** c, int ldc, int* info);
/** Triangular systems op(A) X = alpha B (side 141) or X op(A) = alpha B (142) of the standard; uplo is 121
 * (upper) or 122, diag 131 (not a unit diagonal) or 132, and X overwrites B. Positions of arguments: side 4,
 * uplo 5, transa 6, diag 7, m 8, n 9, a 11, lda 12, b 13, ldb 14, info 15; the rest is as above.
 * @see Dongarra et al. 2017; NLAFET/BBLAS */
void blas_strsm_batch(int group_count, const int* group_sizes, int layout, const int* side, const int* uplo,
                      const int* transa, const int* diag, const int* m, const int* n, const float* alpha,
                      float const* const* a, const int* lda, float** b, const int* ldb, int* info);
void blas_dtrsm_batch(int group_count, const int* group_sizes, int layout, const int* side, const int* uplo,
                      const int* transa, const int* diag, const int* m, const int* n, const double* alpha,
                      double const* const* a, const int* lda, double** b, const int* ldb, int* info);
void blas_strsm_batchf(int group_size, int layout, int side, int uplo, int transa, int diag, int m, int n,
                       float alpha, float const* const* a, int lda, float** b, int ldb, int* info);
void blas_dtrsm_batchf(int group_size, int layout, int side, int uplo, int transa, int diag, int m, int n,
                       double alpha, double const* const* a, int lda, double** b, int ldb, int* info);
/* The c and z names of the standard, such as blas_cgemm_batch, take C's complex types, which C++ lacks:
 * programs declare them as NLAFET/BBLAS does. oneMKL's header declares its own names, such as
 * dgetrf_batch_strided. */

#ifdef __cplusplus
}
#endif

#endif
