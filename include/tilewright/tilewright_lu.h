/* The C interface of LU, as tilewright/lu.hpp has it. tilewright.h includes it. */
#ifndef TILEWRIGHT_LU_H
#define TILEWRIGHT_LU_H

#include "tilewright/tilewright_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How the CPU's share of a trailing update is chosen where CPU and GPUs share it: by the models of the
 * machine for its own shape, for the square product with as many operations, or by average speeds. */
typedef enum {
  TILEWRIGHT_LU_SELECT_PANEL = 0,
  TILEWRIGHT_LU_SELECT_SQUARE = 1,
  TILEWRIGHT_LU_SELECT_FLOPS = 2,
  TILEWRIGHT_LU_SELECT_LIMIT = 0x7fffffff
} tilewright_lu_select;

/* A null pointer stands for the default. */
typedef struct tilewright_lu_options {
  size_t struct_size TILEWRIGHT_SIZED(tilewright_lu_options);
  int target;               /* tilewright_target: who multiplies in trailing updates */
  int threads;              /* 0: OpenMP's default; inside a parallel region always 1 */
  const char* candidate;    /* null: as tuned, else the first that accepts; or streamed, lapack, blocked,
                               reference; of plans panels, cusolver */
  int64_t nb;               /* columns of a panel; 0: as tuned, or by models or a rule */
  int select;               /* tilewright_lu_select */
  const int* gpus;          /* those that may be used; null: all */
  int gpu_count;            /* entries of gpus */
  int64_t gpu_memory_bytes; /* of each GPU, at most; 0: what is free */
  int on_device_failure;    /* tilewright_on_device_failure */
  int device;               /* of plans: the GPU that the operands lie on */
} tilewright_lu_options;
#define TILEWRIGHT_LU_OPTIONS_INIT TILEWRIGHT_INIT(tilewright_lu_options)

/* P A = L U with partial pivoting of an m x n matrix in host memory, as LAPACK's xGETRF: L (its diagonal is
 * 1) and U take A's place, pivots receives min(m, n) row numbers counted from 1, *info 0 or the number,
 * counted from 1, of the first pivot that is exactly zero. */
tilewright_status tilewright_lu_factor(tilewright_context* context, tilewright_dtype dtype, int64_t m,
                                       int64_t n, void* a, int64_t lda, int64_t* pivots, int64_t* info,
                                       const tilewright_lu_options* options);

/* op(A) X = B with these factors and pivots, as xGETRS; X takes the place of B, n x nrhs. */
tilewright_status tilewright_lu_solve(tilewright_context* context, tilewright_dtype dtype, tilewright_op op,
                                      int64_t n, int64_t nrhs, const void* a, int64_t lda,
                                      const int64_t* pivots, void* b, int64_t ldb,
                                      const tilewright_lu_options* options);

/* The inverse takes the place of the factors, as xGETRI. Where a pivot is zero, *info is its number and
 * nothing else is written. */
tilewright_status tilewright_lu_inverse(tilewright_context* context, tilewright_dtype dtype, int64_t n,
                                        void* a, int64_t lda, const int64_t* pivots, int64_t* info,
                                        const tilewright_lu_options* options);

/* At most five steps of iterative refinement of X with the matrix A that was factored into lu, as xGERFS.
 * backward_errors receives nrhs componentwise backward errors. */
tilewright_status tilewright_lu_refine(tilewright_context* context, tilewright_dtype dtype, tilewright_op op,
                                       int64_t n, int64_t nrhs, const void* a, int64_t lda, const void* lu,
                                       int64_t ldlu, const int64_t* pivots, const void* b, int64_t ldb,
                                       void* x, int64_t ldx, double* backward_errors,
                                       const tilewright_lu_options* options);

/* Plans for matrices in the memory of one GPU: what runs them is decided and compiled when they are made, and
 * used again, by several threads at once if need be. A plan may outlive its context, but its messages are
 * asked of tilewright_lu_plan_last_error. */
typedef struct tilewright_lu_plan tilewright_lu_plan;

/* Of a factorization, of op(A) X = B with nrhs right-hand sides, and of an inverse. */
tilewright_status tilewright_lu_plan_create(tilewright_context* context, tilewright_dtype dtype, int64_t m,
                                            int64_t n, int64_t lda, const tilewright_lu_options* options,
                                            tilewright_lu_plan** plan);
tilewright_status tilewright_lu_solve_plan_create(tilewright_context* context, tilewright_dtype dtype,
                                                  tilewright_op op, int64_t n, int64_t nrhs, int64_t lda,
                                                  int64_t ldb, const tilewright_lu_options* options,
                                                  tilewright_lu_plan** plan);
tilewright_status tilewright_lu_inverse_plan_create(tilewright_context* context, tilewright_dtype dtype,
                                                    int64_t n, int64_t lda, int64_t ldinv,
                                                    const tilewright_lu_options* options,
                                                    tilewright_lu_plan** plan);
/* Of at most `steps` steps of iterative refinement with the matrix A that was factored into lu. */
tilewright_status tilewright_lu_refine_plan_create(tilewright_context* context, tilewright_dtype dtype,
                                                   tilewright_op op, int64_t n, int64_t nrhs, int64_t lda,
                                                   int64_t ldlu, int64_t ldb, int64_t ldx, int steps,
                                                   const tilewright_lu_options* options,
                                                   tilewright_lu_plan** plan);
void tilewright_lu_plan_destroy(tilewright_lu_plan* plan);

/* Of device memory that a run needs for itself, at a multiple of 256 bytes. */
int64_t tilewright_lu_plan_workspace_bytes(const tilewright_lu_plan* plan);
/* Of a factorization: the candidates with the reason of each that does not serve; "" of other plans. Valid as
 * long as the plan. */
const char* tilewright_lu_plan_explain(const tilewright_lu_plan* plan);

/* Each runs plans of its own kind. All addresses are of device memory; the work is queued on `stream` (a
 * CUstream; null: the default one) and nothing is waited for. pivots are min(m, n) 64-bit numbers counted
 * from 1, *info 0, the number of the first zero pivot, or -1 where blocks of a kernel waited in vain. */
tilewright_status tilewright_lu_plan_factor(const tilewright_lu_plan* plan, void* a, int64_t* pivots,
                                            int64_t* info, void* workspace, void* stream);
tilewright_status tilewright_lu_plan_solve(const tilewright_lu_plan* plan, const void* lu,
                                           const int64_t* pivots, void* b, void* workspace, void* stream);
tilewright_status tilewright_lu_plan_invert(const tilewright_lu_plan* plan, const void* lu,
                                            const int64_t* pivots, void* inverse, void* workspace,
                                            void* stream);
/* backward_errors: nrhs values, of the X that is left. */
tilewright_status tilewright_lu_plan_refine(const tilewright_lu_plan* plan, const void* a, const void* lu,
                                            const int64_t* pivots, const void* b, void* x,
                                            double* backward_errors, void* workspace, void* stream);
/* As tilewright_last_error, for runs by this thread. */
const char* tilewright_lu_plan_last_error(const tilewright_lu_plan* plan);

#ifdef __cplusplus
}
#endif

#endif
