/* The C interface: C = alpha * op(A) * op(B) + beta * C for one matrix or a batch, on data in host memory or
 * on a GPU. It has the meaning of tilewright/gemm.hpp in functions that return a status. Matrices are
 * column-major unless options.row_major says otherwise; all sizes, leading dimensions and strides are 64-bit
 * and count elements. beta == 0 never reads C; alpha == 0 or k == 0 never reads A, B. C must not share memory
 * with A or B. How the text of a problem is written: docs/problem.md. */
#ifndef TILEWRIGHT_H
#define TILEWRIGHT_H

#include "tilewright/tilewright_lu.h"
#include "tilewright/tilewright_types.h"

#ifdef __cplusplus
extern "C" {
#endif

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

/* "0.2.0" */
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

/* batch_count problems, each with its own entry in every array. With location = device the arrays lie in
 * device memory, too, and the host reads none of them; then op_a and op_b each point to one operation on the
 * host, which is that of all problems, alpha and beta are one value unless the options say that they vary, no
 * size may be above options.max_m, max_n and max_k, and a problem with a bad size, leading dimension or
 * pointer is skipped; only info tells. */
tilewright_status tilewright_gemm_variable_batched(
    tilewright_context* context, tilewright_dtype dtype, const tilewright_op* op_a, const tilewright_op* op_b,
    const int64_t* m, const int64_t* n, const int64_t* k, const void* alpha, const void* const* a,
    const int64_t* lda, const void* const* b, const int64_t* ldb, const void* beta, void* const* c,
    const int64_t* ldc, int64_t batch_count, const tilewright_options* options,
    tilewright_info_mode info_mode, int* info);

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

/* A null pointer stands for the default. */
typedef struct tilewright_chain_options {
  size_t struct_size TILEWRIGHT_SIZED(tilewright_chain_options);
  int threads;   /* 0: OpenMP's default; inside a parallel region always 1 */
  int64_t piece; /* elements in a piece; 0: as many as a core's caches suggest */
  void* stream;  /* of passes in device memory: where they are queued, one after the other */
} tilewright_chain_options;
#define TILEWRIGHT_CHAIN_OPTIONS_INIT TILEWRIGHT_INIT(tilewright_chain_options)

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
