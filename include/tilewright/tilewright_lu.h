/** @file
 * The C interface of LU, as tilewright/lu.hpp has it. tilewright.h includes it.
 * @par Units Matrices are column-major; sizes, leading dimensions and pivots are 64-bit and count elements
 * and rows. Pivots count from 1.
 * @par Memory The caller owns all memory, which a call keeps none of; operands of plans must live until the
 *   queued work is done. The caller destroys plans; null may be destroyed. Returned texts belong to their
 * plan.
 * @par Threads Any number of threads may use one context or plan at once, on different matrices, but one
 * thread destroys it while no other uses it.
 * @par Errors A call validates its arguments before it writes or queues anything and returns
 * INVALID_ARGUMENT, UNSUPPORTED if nothing serves them, OUT_OF_MEMORY, INTERNAL or DEVICE_LOST;
 * tilewright_last_error of the context, or tilewright_lu_plan_last_error of the plan that ran, has the
 * message. Functions that return no status do not fail. */
#ifndef TILEWRIGHT_LU_H
#define TILEWRIGHT_LU_H

#include "tilewright/tilewright_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/** The rule for the CPU's share of a trailing update that CPU and GPUs share. PANEL: by the models of the
 * machine for its own shape. SQUARE: by the models for the square product with as many operations. FLOPS: by
 * average speeds.
 * @see Bernabe et al. 2014, section 5 */
typedef enum {
  TILEWRIGHT_LU_SELECT_PANEL = 0,
  TILEWRIGHT_LU_SELECT_SQUARE = 1,
  TILEWRIGHT_LU_SELECT_FLOPS = 2,
  TILEWRIGHT_LU_SELECT_LIMIT = 0x7fffffff
} tilewright_lu_select;

/** Options of LU; a null pointer means the defaults. */
typedef struct tilewright_lu_options {
  size_t struct_size TILEWRIGHT_SIZED(tilewright_lu_options);
  int target;               /**< tilewright_target of the trailing updates */
  int threads;              /**< 0: OpenMP's default; inside a parallel region always 1 */
  const char* candidate;    /**< null: as tuned, else the first that accepts; or streamed, lapack, blocked,
                                 reference; for plans panels, cusolver */
  int64_t nb;               /**< columns of a panel; 0: as tuned, or by models or a rule */
  int select;               /**< tilewright_lu_select */
  const int* gpus;          /**< numbers of GPUs that may be used; null: all */
  int gpu_count;            /**< entries of gpus */
  int64_t gpu_memory_bytes; /**< upper bound for each GPU; 0: all that is free */
  int on_device_failure;    /**< tilewright_on_device_failure */
  int device;               /**< plans: number of the GPU that the operands lie on */
} tilewright_lu_options;
#define TILEWRIGHT_LU_OPTIONS_INIT TILEWRIGHT_INIT(tilewright_lu_options)

/** Factors an m x n matrix in host memory, P A = L U with partial pivoting: L (its diagonal is 1) and U
 * overwrite A, pivots receives min(m, n) row numbers, *info 0 or the number of the first pivot that is
 * exactly zero.
 * @see LAPACK xGETRF */
tilewright_status tilewright_lu_factor(tilewright_context* context, tilewright_dtype dtype, int64_t m,
                                       int64_t n, void* a, int64_t lda, int64_t* pivots, int64_t* info,
                                       const tilewright_lu_options* options);

/** Solves op(A) X = B with these factors and pivots; X overwrites B, n x nrhs.
 * @see LAPACK xGETRS */
tilewright_status tilewright_lu_solve(tilewright_context* context, tilewright_dtype dtype, tilewright_op op,
                                      int64_t n, int64_t nrhs, const void* a, int64_t lda,
                                      const int64_t* pivots, void* b, int64_t ldb,
                                      const tilewright_lu_options* options);

/** Overwrites the factors with the inverse. If a pivot is zero, *info is its number and nothing else is
 * written.
 * @see LAPACK xGETRI */
tilewright_status tilewright_lu_inverse(tilewright_context* context, tilewright_dtype dtype, int64_t n,
                                        void* a, int64_t lda, const int64_t* pivots, int64_t* info,
                                        const tilewright_lu_options* options);

/** Improves X by at most five steps of iterative refinement with the matrix A that was factored into lu.
 * backward_errors receives nrhs componentwise backward errors.
 * @see LAPACK xGERFS */
tilewright_status tilewright_lu_refine(tilewright_context* context, tilewright_dtype dtype, tilewright_op op,
                                       int64_t n, int64_t nrhs, const void* a, int64_t lda, const void* lu,
                                       int64_t ldlu, const int64_t* pivots, const void* b, int64_t ldb,
                                       void* x, int64_t ldx, double* backward_errors,
                                       const tilewright_lu_options* options);

/** A plan for matrices in the memory of one GPU: its kernels are chosen and compiled when it is made. It may
 * outlive its context. */
typedef struct tilewright_lu_plan tilewright_lu_plan;

/** Create the plan of a factorization, of op(A) X = B with nrhs right-hand sides, of an inverse, and of at
 * most `steps` steps of iterative refinement with the matrix A that was factored into lu. On failure *plan is
 * null.
 */
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
tilewright_status tilewright_lu_refine_plan_create(tilewright_context* context, tilewright_dtype dtype,
                                                   tilewright_op op, int64_t n, int64_t nrhs, int64_t lda,
                                                   int64_t ldlu, int64_t ldb, int64_t ldx, int steps,
                                                   const tilewright_lu_options* options,
                                                   tilewright_lu_plan** plan);
/** Destroys a plan, whose queued work must be done. */
void tilewright_lu_plan_destroy(tilewright_lu_plan* plan);

/** Returns the bytes of workspace in device memory, aligned to 256 bytes, that a run needs. */
int64_t tilewright_lu_plan_workspace_bytes(const tilewright_lu_plan* plan);
/** Returns the candidates of a factorization with the reason of each that does not serve; "" for other plans.
 * It is valid as long as the plan. */
const char* tilewright_lu_plan_explain(const tilewright_lu_plan* plan);

/** Run a plan; each function runs plans of its own kind and refuses others. All addresses are of device
 * memory; the work is queued on `stream` (a CUstream; null: the default one) and nothing is waited for.
 * pivots are min(m, n) 64-bit numbers, *info 0, the number of the first zero pivot, or -1 if a kernel's
 * blocks timed out waiting for one another. backward_errors receives nrhs values, of the improved X. */
tilewright_status tilewright_lu_plan_factor(const tilewright_lu_plan* plan, void* a, int64_t* pivots,
                                            int64_t* info, void* workspace, void* stream);
tilewright_status tilewright_lu_plan_solve(const tilewright_lu_plan* plan, const void* lu,
                                           const int64_t* pivots, void* b, void* workspace, void* stream);
tilewright_status tilewright_lu_plan_invert(const tilewright_lu_plan* plan, const void* lu,
                                            const int64_t* pivots, void* inverse, void* workspace,
                                            void* stream);
tilewright_status tilewright_lu_plan_refine(const tilewright_lu_plan* plan, const void* a, const void* lu,
                                            const int64_t* pivots, const void* b, void* x,
                                            double* backward_errors, void* workspace, void* stream);
/** Returns what tilewright_last_error does, for runs of this plan by this thread. */
const char* tilewright_lu_plan_last_error(const tilewright_lu_plan* plan);

#ifdef __cplusplus
}
#endif

#endif
