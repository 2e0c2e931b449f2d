/** @file
 * The C interface of factorizations, linear systems, least squares, inverses, determinants, eigenvalues and
 * singular values of many small matrices at once, in host or device memory, as tilewright/factor.hpp has it.
 * Each function computes what the LAPACK or BLAS routine in its name computes, for each problem of a batch of
 * one shape. tilewright.h includes it.
 * @par Units Sizes, strides and counts are 64-bit and count elements and matrices; pivots and infos are int
 *   and count from 1.
 * @par Memory The caller owns all memory, which a call keeps none of. Matrices that are written must not
 *   overlap each other or matrices that are read, except where a routine works in place. Arrays of no
 *   numbers, such as the pivots of matrices without elements, may be null.
 * @par Results With info, a call receives the codes of problems that have no result: one for each problem
 *   (TILEWRIGHT_INFO_ALL), or that of the first such problem (GROUP and ANY, one int); 0 stands for success.
 *   With INFO_NONE or a null array nobody is told. Such a matrix is no error of the call, and other problems
 *   are not affected.
 * @par Devices With options.location = TILEWRIGHT_DEVICE matrices, arrays of pointers, pivots, info, det, tau
 *   and values lie in device memory; alpha, options and batches lie on the host. Calls queue the work on
 *   options.stream of options.device and return before it is done; a CUDA graph may capture them. What only
 *   the device can read is not checked, and a pivot out of range exchanges nothing. GROUP and ANY receive the
 *   info of one of the problems that have one. A routine or size that no kernel serves is UNSUPPORTED, and
 *   the message says why.
 * @par Threads Any number of threads may use one context at once, on different matrices.
 * @par Errors A call validates its arguments before it writes anything and returns INVALID_ARGUMENT,
 *   UNSUPPORTED if nothing serves the sizes, OUT_OF_MEMORY or INTERNAL; tilewright_last_error of its context
 *   has the message. */
#ifndef TILEWRIGHT_FACTOR_H
#define TILEWRIGHT_FACTOR_H

#include "tilewright/tilewright_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/** The triangle of a matrix that is read and written (BLAS 'L', 'U'). */
typedef enum {
  TILEWRIGHT_LOWER = 0,
  TILEWRIGHT_UPPER = 1,
  TILEWRIGHT_UPLO_LIMIT = 0x7fffffff
} tilewright_uplo;
/** The side of the unknown matrix on which the triangular one stands (BLAS 'L', 'R'). */
typedef enum {
  TILEWRIGHT_LEFT = 0,
  TILEWRIGHT_RIGHT = 1,
  TILEWRIGHT_SIDE_LIMIT = 0x7fffffff
} tilewright_side;
/** UNIT: the diagonal is 1 and is not read (BLAS 'N', 'U'). */
typedef enum {
  TILEWRIGHT_NON_UNIT = 0,
  TILEWRIGHT_UNIT = 1,
  TILEWRIGHT_DIAG_LIMIT = 0x7fffffff
} tilewright_diag;
/** PARTIAL: rows are exchanged as LAPACK exchanges them. NONE: rows stay, which is stable for matrices that
 * are diagonally dominant or positive definite; no pivots are read or written. */
typedef enum {
  TILEWRIGHT_PIVOTING_PARTIAL = 0,
  TILEWRIGHT_PIVOTING_NONE = 1,
  TILEWRIGHT_PIVOTING_LIMIT = 0x7fffffff
} tilewright_pivoting;

/** The arrangement of the matrices of a batch. STRIDED: matrix p begins at data + p * matrix_stride elements.
 * POINTER: it begins at pointers[p]. INTERLEAVED: element (i, j) of matrix p lies at element (p / block) *
 * block * col_stride * cols + (j * col_stride + i) * block + p % block of data, and the last block is stored
 * whole. */
typedef enum {
  TILEWRIGHT_BATCH_STRIDED = 0,
  TILEWRIGHT_BATCH_POINTER = 1,
  TILEWRIGHT_BATCH_INTERLEAVED = 2,
  TILEWRIGHT_BATCH_LIMIT = 0x7fffffff
} tilewright_batch_layout;

/** A batch of rows x cols matrices as they are stored: element (i, j) of a matrix lies i * row_stride + j *
 * col_stride elements behind its first. A call reads the batch that it takes as `a` beside another, and
 * writes no element of it. */
typedef struct tilewright_matrix_batch {
  size_t struct_size TILEWRIGHT_SIZED(tilewright_matrix_batch);
  int layout;            /**< tilewright_batch_layout */
  void* data;            /**< STRIDED, INTERLEAVED: the first element */
  void* const* pointers; /**< POINTER: the first element of each matrix */
  int64_t count;         /**< matrices */
  int64_t rows, cols;
  int64_t row_stride;    /**< from one row to the next; 0: 1. STRIDED alone has others */
  int64_t col_stride;    /**< from one column to the next (the leading dimension); 0: rows */
  int64_t matrix_stride; /**< STRIDED: from one matrix to the next; 0: one matrix for all, which is read */
  int64_t block;         /**< INTERLEAVED: matrices whose elements alternate; 0: all */
} tilewright_matrix_batch;
#define TILEWRIGHT_MATRIX_BATCH_INIT TILEWRIGHT_INIT(tilewright_matrix_batch)

/** Options of the functions below; a null pointer means the defaults. */
typedef struct tilewright_factor_options {
  size_t struct_size TILEWRIGHT_SIZED(tilewright_factor_options);
  int pivoting; /**< tilewright_pivoting of the routines with LU */
  int threads;  /**< 0: OpenMP's default; inside a parallel region always 1 */
  const char*
      candidate; /**< null: the fastest that serves; or lanes, blocked, on a GPU gpu_small, gpu_large */
  int location;  /**< tilewright_location of the matrices and of all arrays */
  int device;    /**< DEVICE: number of the GPU that they lie on */
  void* stream; /**< DEVICE: a CUstream (cudaStream_t) of that GPU that calls are queued on; null: its default
                 */
} tilewright_factor_options;
#define TILEWRIGHT_FACTOR_OPTIONS_INIT TILEWRIGHT_INIT(tilewright_factor_options)

/** A = L L^H or U^H U for each A, n x n, of which only the triangle `uplo` is read and overwritten. info: the
 * order of the first leading minor that is not positive; the factor is then undefined.
 * @see LAPACK xPOTRF */
tilewright_status tilewright_potrf_batched(tilewright_context* context, tilewright_dtype dtype,
                                           tilewright_uplo uplo, const tilewright_matrix_batch* a,
                                           const tilewright_factor_options* options,
                                           tilewright_info_mode info_mode, int* info);

/** Solves A X = B with these factors; X overwrites B, n x nrhs.
 * @see LAPACK xPOTRS */
tilewright_status tilewright_potrs_batched(tilewright_context* context, tilewright_dtype dtype,
                                           tilewright_uplo uplo, const tilewright_matrix_batch* a,
                                           const tilewright_matrix_batch* b,
                                           const tilewright_factor_options* options);

/** Solves A X = B for positive definite A, of which only the triangle `uplo` is read; X overwrites B. A is
 * not written. info: as of tilewright_potrf_batched; the B of such a problem keeps its values.
 * @see LAPACK xPOSV */
tilewright_status tilewright_posv_batched(tilewright_context* context, tilewright_dtype dtype,
                                          tilewright_uplo uplo, const tilewright_matrix_batch* a,
                                          const tilewright_matrix_batch* b,
                                          const tilewright_factor_options* options,
                                          tilewright_info_mode info_mode, int* info);

/** Overwrites the triangle of the factor by that of the inverse. info: the first exact zero of the diagonal;
 * the A of such a problem keeps its values.
 * @see LAPACK xPOTRI */
tilewright_status tilewright_potri_batched(tilewright_context* context, tilewright_dtype dtype,
                                           tilewright_uplo uplo, const tilewright_matrix_batch* a,
                                           const tilewright_factor_options* options,
                                           tilewright_info_mode info_mode, int* info);

/** P A = L U for each A, m x n: L (its diagonal is 1) and U overwrite A. pivots receives min(m, n) numbers
 * for each problem, one problem after the other: row i was exchanged with row pivots[i - 1]. info: the first
 * exact zero of U's diagonal; the factorization is complete all the same.
 * @see LAPACK xGETRF */
tilewright_status tilewright_getrf_batched(tilewright_context* context, tilewright_dtype dtype,
                                           const tilewright_matrix_batch* a, int* pivots,
                                           const tilewright_factor_options* options,
                                           tilewright_info_mode info_mode, int* info);

/** Solves op(A) X = B with these factors and pivots; X overwrites B, n x nrhs.
 * @see LAPACK xGETRS */
tilewright_status tilewright_getrs_batched(tilewright_context* context, tilewright_dtype dtype,
                                           tilewright_op op, const tilewright_matrix_batch* a,
                                           const int* pivots, const tilewright_matrix_batch* b,
                                           const tilewright_factor_options* options);

/** Solves A X = B for each A, n x n; X overwrites B. A is not written. info: as of tilewright_getrf_batched;
 * the B of such a problem keeps its values.
 * @see LAPACK xGESV */
tilewright_status tilewright_gesv_batched(tilewright_context* context, tilewright_dtype dtype,
                                          const tilewright_matrix_batch* a, const tilewright_matrix_batch* b,
                                          const tilewright_factor_options* options,
                                          tilewright_info_mode info_mode, int* info);

/** Overwrites the factors of tilewright_getrf_batched by the inverse. info: the first exact zero of the
 * diagonal; the A of such a problem keeps its values.
 * @see LAPACK xGETRI */
tilewright_status tilewright_getri_batched(tilewright_context* context, tilewright_dtype dtype,
                                           const tilewright_matrix_batch* a, const int* pivots,
                                           const tilewright_factor_options* options,
                                           tilewright_info_mode info_mode, int* info);

/** Writes the inverse of each A, n x n, which may be A itself. info: as of tilewright_getrf_batched; the
 * inverse of such a problem keeps its values.
 * @see LAPACK xGETRF, xGETRI */
tilewright_status tilewright_inv_batched(tilewright_context* context, tilewright_dtype dtype,
                                         const tilewright_matrix_batch* a,
                                         const tilewright_matrix_batch* inverse,
                                         const tilewright_factor_options* options,
                                         tilewright_info_mode info_mode, int* info);

/** Writes the determinant of each A, n x n, to det, an array of elements with a place for each problem; 1 if
 * n is 0.
 * @see LAPACK xGETRF */
tilewright_status tilewright_det_batched(tilewright_context* context, tilewright_dtype dtype,
                                         const tilewright_matrix_batch* a, void* det,
                                         const tilewright_factor_options* options);

/** Solves op(A) X = alpha B (TILEWRIGHT_LEFT) or X op(A) = alpha B with triangular A; X overwrites B, m x n.
 * alpha is the address of one value.
 * @see BLAS xTRSM */
tilewright_status tilewright_trsm_batched(tilewright_context* context, tilewright_dtype dtype,
                                          tilewright_side side, tilewright_uplo uplo, tilewright_op op,
                                          tilewright_diag diag, const void* alpha,
                                          const tilewright_matrix_batch* a, const tilewright_matrix_batch* b,
                                          const tilewright_factor_options* options);

/** A = Q R for each A, m x n: R overwrites the upper triangle, the reflectors whose product is Q the rest.
 * tau is an array of elements that receives min(m, n) of them for each problem, one problem after the other.
 * @see LAPACK xGEQRF */
tilewright_status tilewright_geqrf_batched(tilewright_context* context, tilewright_dtype dtype,
                                           const tilewright_matrix_batch* a, void* tau,
                                           const tilewright_factor_options* options);

/** Overwrites B, m x nrhs, by Q B (TILEWRIGHT_NONE) or Q^H B (TILEWRIGHT_CONJ_TRANS; for real numbers also
 * TILEWRIGHT_TRANS) with these reflectors and tau.
 * @see LAPACK xORMQR, xUNMQR */
tilewright_status tilewright_ormqr_batched(tilewright_context* context, tilewright_dtype dtype,
                                           tilewright_op op, const tilewright_matrix_batch* a,
                                           const void* tau, const tilewright_matrix_batch* b,
                                           const tilewright_factor_options* options);

/** Finds the X that make each column of A X - B smallest, for A, m x n with m >= n, of full rank. X
 * overwrites the first n rows of B, m x nrhs; the norm of a column's other rows is that of its residual. A is
 * not written. info: the first exact zero of R's diagonal; the B of such a problem keeps its values.
 * @see LAPACK xGELS */
tilewright_status tilewright_gels_batched(tilewright_context* context, tilewright_dtype dtype,
                                          const tilewright_matrix_batch* a, const tilewright_matrix_batch* b,
                                          const tilewright_factor_options* options,
                                          tilewright_info_mode info_mode, int* info);

/** Writes the eigenvalues of each symmetric or Hermitian A, n x n, of which only the triangle `uplo` is read,
 * in ascending order to values, an array of real numbers with n places for each problem, one problem after
 * the other; and, unless vectors is null, the eigenvectors, of norm 1, as its columns, n x n. vectors may be
 * A itself. info: the elements beside the diagonal that did not become zero; every one of them if an element
 * of A is not finite. The vectors of such a problem keep their values.
 * @see LAPACK xSYEV, xHEEV */
tilewright_status tilewright_syev_batched(tilewright_context* context, tilewright_dtype dtype,
                                          tilewright_uplo uplo, const tilewright_matrix_batch* a,
                                          void* values, const tilewright_matrix_batch* vectors,
                                          const tilewright_factor_options* options,
                                          tilewright_info_mode info_mode, int* info);

/** Writes the singular values of each A, m x n, in descending order to values, an array of real numbers with
 * min(m, n) places for each problem, one problem after the other; and, unless u and vh are both null, the
 * singular vectors: A = U diag(values) V^H with u of m x min(m, n) and vh of min(m, n) x n, none of which may
 * be A. info: the pairs of columns that did not become orthogonal; every one of them if an element of A is
 * not finite. The vectors of such a problem keep their values.
 * @see LAPACK xGESVD with JOBU = JOBVT = 'S' */
tilewright_status tilewright_gesvd_batched(tilewright_context* context, tilewright_dtype dtype,
                                           const tilewright_matrix_batch* a, void* values,
                                           const tilewright_matrix_batch* u,
                                           const tilewright_matrix_batch* vh,
                                           const tilewright_factor_options* options,
                                           tilewright_info_mode info_mode, int* info);

#ifdef __cplusplus
}
#endif

#endif
