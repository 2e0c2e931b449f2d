/* The C interface: C = alpha * op(A) * op(B) + beta * C for one matrix or a batch, on data in host memory or
 * on a GPU. It has the meaning of tilewright/gemm.hpp in functions that return a status. Matrices are
 * column-major unless options.row_major says otherwise; all sizes, leading dimensions and strides are 64-bit
 * and count elements. beta == 0 never reads C; alpha == 0 or k == 0 never reads A, B. C must not share memory
 * with A or B. How the text of a problem is written: docs/problem.md. */
#ifndef TILEWRIGHT_H
#define TILEWRIGHT_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum {
  TILEWRIGHT_OK = 0,
  TILEWRIGHT_INVALID_ARGUMENT = 1,
  TILEWRIGHT_UNSUPPORTED = 2,
  TILEWRIGHT_OUT_OF_MEMORY = 3,
  TILEWRIGHT_IO = 4,
  TILEWRIGHT_INTERNAL = 5,
  TILEWRIGHT_DEVICE_LOST = 6 /* a GPU failed in mid-call; the message says which part of C is missing */
} tilewright_status;

/* Element types: float, double, and pairs (real, imaginary) of them. alpha and beta are passed by address. */
typedef enum {
  TILEWRIGHT_F32 = 0,
  TILEWRIGHT_F64 = 1,
  TILEWRIGHT_C64 = 2,
  TILEWRIGHT_C128 = 3,
  TILEWRIGHT_DTYPE_LIMIT =
      0x7fffffff /* no value of its own: makes every int one that can be passed and refused */
} tilewright_dtype;
typedef enum {
  TILEWRIGHT_NONE = 0,
  TILEWRIGHT_TRANS = 1,
  TILEWRIGHT_CONJ_TRANS = 2,
  TILEWRIGHT_OP_LIMIT = 0x7fffffff
} tilewright_op;
typedef enum {
  TILEWRIGHT_TARGET_AUTO = 0,
  TILEWRIGHT_TARGET_CPU = 1,
  TILEWRIGHT_TARGET_GPU = 2,
  TILEWRIGHT_TARGET_HYBRID = 3,
  TILEWRIGHT_TARGET_LIMIT = 0x7fffffff
} tilewright_target;
typedef enum {
  TILEWRIGHT_OBJECTIVE_TIME = 0,
  TILEWRIGHT_OBJECTIVE_ENERGY = 1,
  TILEWRIGHT_OBJECTIVE_EDP = 2,
  TILEWRIGHT_OBJECTIVE_ALPHA = 3,         /* time and energy, weighted by objective_weight */
  TILEWRIGHT_OBJECTIVE_ENERGY_WITHIN = 4, /* the least energy among what is nearly the fastest */
  TILEWRIGHT_OBJECTIVE_LIMIT = 0x7fffffff
} tilewright_objective;
typedef enum {
  TILEWRIGHT_RESIDENCY_AUTO = 0,
  TILEWRIGHT_RESIDENCY_COLD = 1,
  TILEWRIGHT_RESIDENCY_L2 = 2,
  TILEWRIGHT_RESIDENCY_L1 = 3,
  TILEWRIGHT_RESIDENCY_LIMIT = 0x7fffffff
} tilewright_residency;

/* How a product of host operands is shared out among the CPU and the GPUs: by the models of the machine; by
 * timing, at the first call, from the models' share on or all shares; or as cpu_share says. */
typedef enum {
  TILEWRIGHT_SPLIT_MODEL = 0,
  TILEWRIGHT_SPLIT_GUIDED = 1,
  TILEWRIGHT_SPLIT_EXHAUSTIVE = 2,
  TILEWRIGHT_SPLIT_FIXED = 3,
  TILEWRIGHT_SPLIT_LIMIT = 0x7fffffff
} tilewright_split;

/* What becomes of the part of C that a GPU has not brought back when it fails. */
typedef enum {
  TILEWRIGHT_ON_DEVICE_FAILURE_ERROR = 0, /* the call fails and says which part is undefined */
  TILEWRIGHT_ON_DEVICE_FAILURE_REDO = 1,  /* the CPU computes it */
  TILEWRIGHT_ON_DEVICE_FAILURE_LIMIT = 0x7fffffff
} tilewright_on_device_failure;

/* Where the operands of a call lie. One alpha or beta for all problems lies on the host. The info array lies
 * where the operands do: on a GPU it is written by the work that the call queues. */
typedef enum {
  TILEWRIGHT_HOST = 0,
  TILEWRIGHT_DEVICE = 1,
  TILEWRIGHT_LOCATION_LIMIT = 0x7fffffff
} tilewright_location;

/* What an info array receives: a code per problem, per group, or one for the call. A code is 0, or -i when
 * argument i of the BLAS routine is bad (op_a = 1, op_b, m, n, k, alpha, a = 7, lda, b, ldb, beta, c = 12,
 * ldc = 13). Bad problems are skipped and the others computed. With INFO_NONE, or a null array, one bad
 * argument fails the call before anything is written. */
typedef enum {
  TILEWRIGHT_INFO_ALL = 0,
  TILEWRIGHT_INFO_GROUP = 1,
  TILEWRIGHT_INFO_ANY = 2,
  TILEWRIGHT_INFO_NONE = 3,
  TILEWRIGHT_INFO_LIMIT = 0x7fffffff
} tilewright_info_mode;

typedef struct tilewright_context
    tilewright_context;                         /* knows the machine, keeps kernels; usable by many threads */
typedef struct tilewright_plan tilewright_plan; /* what runs one problem; usable by many threads */
typedef struct tilewright_pinned tilewright_pinned; /* pinned host memory */

/* All zeros is the default, and so is a null pointer to options. */
typedef struct {
  int target;    /* tilewright_target */
  int objective; /* tilewright_objective */
  int threads;   /* 0: OpenMP's default; inside a parallel region always 1 */
  int checked;   /* nonzero: also looks for overlapping C in batches of pointers, which lose products */
  int residency; /* tilewright_residency: where the operands are expected */
  const char* candidate; /* null: the first that accepts */
  const char* config;    /* null: wisdom, then default; else JSON fields over the default */
  int location;          /* tilewright_location of a call's operands; a plan's problem states its own */
  int device;            /* the GPU that operands in device memory lie on */
  void* stream;    /* a CUstream (cudaStream_t) of that GPU, on which a call is queued; null: its default */
  int align_bytes; /* plans: what all device addresses are multiples of; 0: 128. Calls see for themselves */
  double tune_on_miss_s;   /* > 0: a problem that wisdom has no exact record of is tuned for so many seconds
                              before the call goes on; needs tilewright_install_tuner of tilewright_tune.h */
  double objective_weight; /* of ALPHA: what time counts for, 0 to 1; of ENERGY_WITHIN: by what share the
                              fastest may be exceeded, 0: 5 % */
  int alpha_varies; /* nonzero: alpha is an array of batch_count values, one per problem, which lies where the
                       operands do; taken by batches of one shape, by variable ones on a GPU and by plans */
  int beta_varies;  /* the same of beta */
  /* Of products of single matrices in host memory on GPUs. */
  const int* gpus;          /* those that may be used; null: all */
  int gpu_count;            /* entries of gpus */
  int64_t gpu_memory_bytes; /* of each GPU, at most; 0: what is free */
  int split;                /* tilewright_split */
  double cpu_share;         /* of SPLIT_FIXED: what part of C the CPU computes, 0 to 1 */
  int on_device_failure;    /* tilewright_on_device_failure */
  int row_major; /* nonzero: the matrices of a call lie by rows, and lda, ldb, ldc count from one row to the
                    next; plans and variable batches in device memory are by columns */
} tilewright_options;

/* All zeros is the default. */
typedef struct {
  const char* cpu; /* null or "": TILEWRIGHT_CPU or the best the machine has, else portable, avx2, avx512 */
  const char* wisdom; /* null, or a file (database or JSON lines) to believe before the shipped ones */
  int no_wisdom;      /* nonzero: every config is the rule-of-thumb default */
  int no_jit;         /* nonzero: GPU kernels are compiled by tilewright_prepare alone */
  int no_notices;     /* nonzero: nothing is said on stderr of problems that wisdom has no record of */
} tilewright_context_options;

/* cpu: null or "" for TILEWRIGHT_CPU or the best the machine has, else portable, avx2, avx512. wisdom: null
 * or a file (database or JSON lines) to believe before the shipped ones. On failure *context still receives a
 * handle, which answers tilewright_last_error and must be destroyed; it is null only when memory is out. */
tilewright_status tilewright_create(const char* cpu, const char* wisdom, tilewright_context** context);
tilewright_status tilewright_create_with(const tilewright_context_options* options,
                                         tilewright_context** context);
void tilewright_destroy(tilewright_context* context);

/* The message of the last call by this thread with this context that failed, "" when none has. It stays valid
 * until the thread's next failure with the context. */
const char* tilewright_last_error(const tilewright_context* context);

/* "0.1.0" */
const char* tilewright_version(void);

tilewright_status tilewright_gemm(tilewright_context* context, tilewright_dtype dtype, tilewright_op op_a,
                                  tilewright_op op_b, int64_t m, int64_t n, int64_t k, const void* alpha,
                                  const void* a, int64_t lda, const void* b, int64_t ldb, const void* beta,
                                  void* c, int64_t ldc, const tilewright_options* options);

/* In all batched calls no two problems may have a C, or a part of one, in common: products would be lost,
 * with one thread too. tilewright_gemm_stack and the batch_reduce calls sum products into one C.
 *
 * Matrix p of A begins at a + p * stride_a elements; stride_a = 0 or stride_b = 0 uses one matrix for all. */
tilewright_status tilewright_gemm_strided_batched(
    tilewright_context* context, tilewright_dtype dtype, tilewright_op op_a, tilewright_op op_b, int64_t m,
    int64_t n, int64_t k, const void* alpha, const void* a, int64_t lda, int64_t stride_a, const void* b,
    int64_t ldb, int64_t stride_b, const void* beta, void* c, int64_t ldc, int64_t stride_c,
    int64_t batch_count, const tilewright_options* options, tilewright_info_mode info_mode, int* info);

/* Strides within strides, as in contractions of tensors: level_count levels, 1 to 3, the innermost first;
 * arrays have an entry for each. With three levels matrix (h, i, j) of counts[2] * counts[1] * counts[0] of A
 * begins at a + h * strides_a[2] + i * strides_a[1] + j * strides_a[0] elements, and j runs fastest where
 * problems are numbered. Strides of A and B may be 0. */
tilewright_status tilewright_gemm_levels_batched(tilewright_context* context, tilewright_dtype dtype,
                                                 tilewright_op op_a, tilewright_op op_b, int64_t m, int64_t n,
                                                 int64_t k, const void* alpha, const void* a, int64_t lda,
                                                 const int64_t* strides_a, const void* b, int64_t ldb,
                                                 const int64_t* strides_b, const void* beta, void* c,
                                                 int64_t ldc, const int64_t* strides_c, int level_count,
                                                 const int64_t* counts, const tilewright_options* options,
                                                 tilewright_info_mode info_mode, int* info);

tilewright_status tilewright_gemm_pointer_batched(tilewright_context* context, tilewright_dtype dtype,
                                                  tilewright_op op_a, tilewright_op op_b, int64_t m,
                                                  int64_t n, int64_t k, const void* alpha,
                                                  const void* const* a, int64_t lda, const void* const* b,
                                                  int64_t ldb, const void* beta, void* const* c, int64_t ldc,
                                                  int64_t batch_count, const tilewright_options* options,
                                                  tilewright_info_mode info_mode, int* info);

/* Element (i, j) of problem p of A lies at a[(p / block) * block * lda * columns + (j * lda + i) * block + p
 * % block]. block = batch_count interleaves the whole batch. The last block is stored whole. */
tilewright_status tilewright_gemm_interleaved_batched(tilewright_context* context, tilewright_dtype dtype,
                                                      tilewright_op op_a, tilewright_op op_b, int64_t m,
                                                      int64_t n, int64_t k, const void* alpha, const void* a,
                                                      int64_t lda, const void* b, int64_t ldb,
                                                      const void* beta, void* c, int64_t ldc, int64_t block,
                                                      int64_t batch_count, const tilewright_options* options,
                                                      tilewright_info_mode info_mode, int* info);

/* With location = device the matrices and the arrays a, b and c lie there and all others on the host.
 *
 * group_count groups, group g of group_size[g] problems of one shape: op_a ... ldc hold a value per group,
 * alpha and beta are arrays of group_count elements, and a, b, c hold the pointers of all problems, group
 * after group. */
tilewright_status tilewright_gemm_grouped_batched(
    tilewright_context* context, tilewright_dtype dtype, const tilewright_op* op_a, const tilewright_op* op_b,
    const int64_t* m, const int64_t* n, const int64_t* k, const void* alpha, const void* const* a,
    const int64_t* lda, const void* const* b, const int64_t* ldb, const void* beta, void* const* c,
    const int64_t* ldc, int64_t group_count, const int64_t* group_size, const tilewright_options* options,
    tilewright_info_mode info_mode, int* info);

/* batch_count problems, each with its own entry in every array; on the host. */
tilewright_status tilewright_gemm_variable_batched(
    tilewright_context* context, tilewright_dtype dtype, const tilewright_op* op_a, const tilewright_op* op_b,
    const int64_t* m, const int64_t* n, const int64_t* k, const void* alpha, const void* const* a,
    const int64_t* lda, const void* const* b, const int64_t* ldb, const void* beta, void* const* c,
    const int64_t* ldc, int64_t batch_count, const tilewright_options* options,
    tilewright_info_mode info_mode, int* info);

/* The same with every array in device memory, so that the host reads none of them. The ops are those of all
 * problems; no size may be above most_m, most_n, most_k, which are at most 64. A problem with a bad size,
 * leading dimension or pointer is skipped; only info tells. alpha and beta are one value unless the options
 * say that they vary. */
tilewright_status tilewright_gemm_variable_batched_on_device(
    tilewright_context* context, tilewright_dtype dtype, tilewright_op op_a, tilewright_op op_b,
    int64_t most_m, int64_t most_n, int64_t most_k, const int64_t* m, const int64_t* n, const int64_t* k,
    const void* alpha, const void* const* a, const int64_t* lda, const void* const* b, const int64_t* ldb,
    const void* beta, void* const* c, const int64_t* ldc, int64_t batch_count,
    const tilewright_options* options, tilewright_info_mode info_mode, int* info);

/* C = alpha * (op(A_0) op(B_0) + op(A_1) op(B_1) + ...) + beta * C: the products of a batch summed into one
 * C. batch_count = 0 leaves beta * C. In device memory (options.location) for sizes up to 64; pointers lie
 * there too, alpha and beta on the host. */
tilewright_status tilewright_gemm_strided_batch_reduce(tilewright_context* context, tilewright_dtype dtype,
                                                       tilewright_op op_a, tilewright_op op_b, int64_t m,
                                                       int64_t n, int64_t k, const void* alpha, const void* a,
                                                       int64_t lda, int64_t stride_a, const void* b,
                                                       int64_t ldb, int64_t stride_b, const void* beta,
                                                       void* c, int64_t ldc, int64_t batch_count,
                                                       const tilewright_options* options);
tilewright_status tilewright_gemm_pointer_batch_reduce(tilewright_context* context, tilewright_dtype dtype,
                                                       tilewright_op op_a, tilewright_op op_b, int64_t m,
                                                       int64_t n, int64_t k, const void* alpha,
                                                       const void* const* a, int64_t lda,
                                                       const void* const* b, int64_t ldb, const void* beta,
                                                       void* c, int64_t ldc, int64_t batch_count,
                                                       const tilewright_options* options);

/* One product of a stack: elements from the stack's a, b and c to where its matrices begin, or addresses. */
typedef struct {
  int64_t a, b, c;
} tilewright_stack_offsets;
typedef struct {
  const void* a;
  const void* b;
  void* c;
} tilewright_stack_pointers;

/* `count` products of one shape, alpha * op(A) * op(B) each, listed by offsets or by pointers; the other is
 * null. alpha is the address of one value. */
typedef struct {
  tilewright_op op_a, op_b;
  int64_t m, n, k;
  const void* alpha;
  const void* a;
  int64_t lda;
  const void* b;
  int64_t ldb;
  void* c;
  int64_t ldc;
  const tilewright_stack_offsets* offsets;
  const tilewright_stack_pointers* pointers;
  int64_t count;
} tilewright_stack;

/* Each C that the stacks name becomes beta * C plus the sum of all products that name it; C may repeat, in
 * runs or anywhere, which no other call allows.
 *
 * With options.location = TILEWRIGHT_DEVICE matrices and lists lie in device memory, and the host does not
 * read the lists: the products of one C stand one behind the other in theirs, and only with beta = 1 may two
 * stacks name one C. Sizes up to 64, by columns; queued on options.stream. A plan of stacks takes any order.
 */
tilewright_status tilewright_gemm_stack(tilewright_context* context, tilewright_dtype dtype,
                                        const tilewright_stack* stacks, int64_t stack_count, const void* beta,
                                        const tilewright_options* options);

/* Stacks in device memory whose lists are sorted by C once, kept there and run many times. `lists` says where
 * offsets and pointers lie; those in device memory are read back, which waits for the device. C may repeat
 * anywhere. The lists may be gone when this returns; the matrices are named by their addresses. */
typedef struct tilewright_stack_plan tilewright_stack_plan;
tilewright_status tilewright_stack_plan_create(tilewright_context* context, tilewright_dtype dtype,
                                               const tilewright_stack* stacks, int64_t stack_count,
                                               tilewright_location lists, const tilewright_options* options,
                                               tilewright_stack_plan** plan);
void tilewright_stack_plan_destroy(tilewright_stack_plan* plan);
/* Queued on `stream` (a CUstream; null: the default one): nothing is waited for, allocated or compiled. */
tilewright_status tilewright_stack_plan_run(const tilewright_stack_plan* plan, const void* beta,
                                            void* stream);
/* Products and kernel of each launch. Valid as long as the plan. */
const char* tilewright_stack_plan_explain(const tilewright_stack_plan* plan);
/* As tilewright_last_error, for runs by this thread. */
const char* tilewright_stack_plan_last_error(const tilewright_stack_plan* plan);

/* Pinned host memory, which products of host operands on GPUs stream from at the full rate of the link:
 * allocated (not initialised), or the caller's own, pinned as it lies until the handle is destroyed.
 * TILEWRIGHT_UNSUPPORTED where there is no GPU; *pinned is then null. Handles may outlive their context. */
tilewright_status tilewright_pinned_allocate(tilewright_context* context, int64_t bytes,
                                             tilewright_pinned** pinned);
tilewright_status tilewright_pinned_register(tilewright_context* context, void* data, int64_t bytes,
                                             tilewright_pinned** pinned);
void* tilewright_pinned_data(const tilewright_pinned* pinned);
void tilewright_pinned_destroy(tilewright_pinned* pinned);

/* How the CPU's share of a trailing update is chosen where CPU and GPUs share it: by the models of the
 * machine for its own shape, for the square product with as many operations, or by average speeds. */
typedef enum {
  TILEWRIGHT_LU_SELECT_PANEL = 0,
  TILEWRIGHT_LU_SELECT_SQUARE = 1,
  TILEWRIGHT_LU_SELECT_FLOPS = 2,
  TILEWRIGHT_LU_SELECT_LIMIT = 0x7fffffff
} tilewright_lu_select;

/* All zeros is the default, and so is a null pointer to options. */
typedef struct {
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

/* Makes the plans of these problems, given in their canonical text, several at a time, and compiles what they
 * need. Calls and plans with the same description and options then find everything made, calls on a GPU for
 * addresses of any alignment that options.align_bytes allows (0: any; 128 saves kernels for lesser ones).
 * They stay as long as the context, up to 4096 of them. */
tilewright_status tilewright_prepare(tilewright_context* context, const char* const* problems,
                                     int64_t problem_count, const tilewright_options* options);

/* A plan for a problem in its canonical text, e.g.
 * "gemm_batched:f64:nn:m=8,n=8,k=8:strided:batch=1000000:beta=one". The plan may outlive its context, but its
 * messages are asked of it. */
tilewright_status tilewright_plan_create(tilewright_context* context, const char* problem,
                                         const tilewright_options* options, tilewright_plan** plan);
void tilewright_plan_destroy(tilewright_plan* plan);

/* alpha and beta must be of the classes in the plan's problem (zero, one, general), or arrays where the
 * plan's options said so. For a pointer batch a, b and c are arrays of pointers, else base addresses. A
 * failure's message is asked of tilewright_plan_last_error. */
tilewright_status tilewright_plan_run(const tilewright_plan* plan, const void* alpha, const void* a,
                                      const void* b, const void* beta, void* c);

/* The same for operands on a GPU: the work is queued on `stream` (a CUstream; null: the default one) and
 * nothing is waited for, so the call can be captured in a CUDA graph. The plan must outlive the last launch
 * of that graph; of captured calls that found their plans in a context, the context, and tilewright_prepare
 * must have made them. */
tilewright_status tilewright_plan_run_on(const tilewright_plan* plan, const void* alpha, const void* a,
                                         const void* b, const void* beta, void* c, void* stream);

/* A pass of a chain: what tilewright_plan_run would run for all elements. A scratch number, 1 to 64, takes
 * the place of the address of that operand: room of the chain's own, in which a later pass finds what an
 * earlier one wrote for the same element, and which never goes to memory; 0 for none. */
typedef struct {
  const tilewright_plan* plan; /* of a strided batch, of one or more levels */
  const void* alpha;
  const void* a;
  const void* b;
  const void* beta;
  void* c;
  int scratch_a, scratch_b, scratch_c;
} tilewright_chain_pass;

/* All zeros is the default, and so is a null pointer to options. */
typedef struct {
  int threads;   /* 0: OpenMP's default; inside a parallel region always 1 */
  int64_t piece; /* elements in a piece; 0: as many as half of a core's second-level cache holds */
  void* stream;  /* of passes in device memory: where they are queued, one after the other */
} tilewright_chain_options;

/* Runs the passes in order over `count` elements, all passes over a piece of them that caches hold before the
 * next piece; results are those of the passes one after the other, bit for bit. The outermost level of each
 * plan's batch has a multiple of `count` parts. Problems of an element may read and overwrite what earlier
 * passes wrote or read of that element, and nothing of another. All plans have one type and location, on
 * the host or, without scratch, in device memory. The message of a failure is the context's. */
tilewright_status tilewright_run_chain(tilewright_context* context, int64_t count,
                                       const tilewright_chain_pass* passes, int64_t pass_count,
                                       const tilewright_chain_options* options);

/* Candidates with the reason each declined, config, wisdom match, bound. Valid as long as the plan. */
const char* tilewright_plan_explain(const tilewright_plan* plan);

/* As tilewright_last_error, for tilewright_plan_run by this thread. */
const char* tilewright_plan_last_error(const tilewright_plan* plan);

#ifdef __cplusplus
}
#endif

#endif
