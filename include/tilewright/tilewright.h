/** @file
 * The C interface: C = alpha * op(A) * op(B) + beta * C for one matrix or a batch, on data in host memory or
 * on a GPU. It has the meaning of tilewright/gemm.hpp in functions that return a status. beta == 0 never
 * reads C; alpha == 0 or k == 0 never reads A and B. docs/problem.md describes the text of a problem. These
 * clauses hold for every function here unless its own say otherwise.
 * @par Units Sizes, leading dimensions and strides are 64-bit and count elements; matrices are column-major
 *   unless options.row_major is set.
 * @par Memory The caller owns matrices, arrays and lists, which a call keeps none of; operands on a GPU must
 *   live until the queued work is done. C must not share memory with A or B. Handles belong to the caller,
 * who destroys them; null handles may be destroyed. Returned texts belong to their handle.
 * @par Threads Any number of threads may use one context or plan at once, on different C, but one thread
 *   destroys it while no other uses it.
 * @par Errors A call validates its arguments before it writes anything and returns INVALID_ARGUMENT,
 *   UNSUPPORTED if nothing serves them, OUT_OF_MEMORY, IO, INTERNAL or DEVICE_LOST; tilewright_last_error of
 *   its context has the message. A null context is INVALID_ARGUMENT. Functions that return no status do not
 *   fail. */
#ifndef TILEWRIGHT_H
#define TILEWRIGHT_H

#include "tilewright/tilewright_factor.h"
#include "tilewright/tilewright_lu.h"
#include "tilewright/tilewright_types.h"
#include "tilewright/version.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Creates a context. cpu and wisdom are those of tilewright_context_options. On failure *context still
 * receives a handle, which answers tilewright_last_error and must be destroyed; it is null only if memory is
 * out. */
tilewright_status tilewright_create(const char* cpu, const char* wisdom, tilewright_context** context);
tilewright_status tilewright_create_with(const tilewright_context_options* options,
                                         tilewright_context** context);
/** Destroys a context. Plans and pinned memory made with it stay valid. */
void tilewright_destroy(tilewright_context* context);

/** Returns the message of the last call by this thread with this context that failed, "" if none has. It
 * stays valid until the thread's next failure with the context. */
const char* tilewright_last_error(const tilewright_context* context);

/** Returns the version of the library, such as "0.2.0". */
const char* tilewright_version(void);

/** C = alpha * op(A) * op(B) + beta * C of one matrix: op(A) is m x k, op(B) k x n and C m x n.
 * @see BLAS xGEMM */
tilewright_status tilewright_gemm(tilewright_context* context, tilewright_dtype dtype, tilewright_op op_a,
                                  tilewright_op op_b, int64_t m, int64_t n, int64_t k, const void* alpha,
                                  const void* a, int64_t lda, const void* b, int64_t ldb, const void* beta,
                                  void* c, int64_t ldc, const tilewright_options* options);

/* In all batched calls no two problems may have a C, or a part of one, in common: products would be lost,
 * with one thread too. tilewright_gemm_stack and the batch_reduce calls accumulate products into one C. */

/** A batch at equal distances: matrix p of A begins at a + p * stride_a elements; stride_a = 0 or stride_b =
 * 0 uses one matrix for all.
 * @see Batched BLAS (Dongarra et al. 2017), which info_mode and info are from */
tilewright_status tilewright_gemm_strided_batched(
    tilewright_context* context, tilewright_dtype dtype, tilewright_op op_a, tilewright_op op_b, int64_t m,
    int64_t n, int64_t k, const void* alpha, const void* a, int64_t lda, int64_t stride_a, const void* b,
    int64_t ldb, int64_t stride_b, const void* beta, void* c, int64_t ldc, int64_t stride_c,
    int64_t batch_count, const tilewright_options* options, tilewright_info_mode info_mode, int* info);

/** A batch with strides within strides, as in contractions of tensors: level_count levels, 1 to 3, the
 * innermost first; arrays have an entry for each. With three levels matrix (h, i, j) of counts[2] * counts[1]
 * * counts[0] of A begins at a + h * strides_a[2] + i * strides_a[1] + j * strides_a[0] elements, and
 * problems are numbered with j fastest. Strides of A and B may be 0. */
tilewright_status tilewright_gemm_levels_batched(tilewright_context* context, tilewright_dtype dtype,
                                                 tilewright_op op_a, tilewright_op op_b, int64_t m, int64_t n,
                                                 int64_t k, const void* alpha, const void* a, int64_t lda,
                                                 const int64_t* strides_a, const void* b, int64_t ldb,
                                                 const int64_t* strides_b, const void* beta, void* c,
                                                 int64_t ldc, const int64_t* strides_c, int level_count,
                                                 const int64_t* counts, const tilewright_options* options,
                                                 tilewright_info_mode info_mode, int* info);

/** A batch of matrices anywhere: a, b and c are arrays of batch_count pointers. */
tilewright_status tilewright_gemm_pointer_batched(tilewright_context* context, tilewright_dtype dtype,
                                                  tilewright_op op_a, tilewright_op op_b, int64_t m,
                                                  int64_t n, int64_t k, const void* alpha,
                                                  const void* const* a, int64_t lda, const void* const* b,
                                                  int64_t ldb, const void* beta, void* const* c, int64_t ldc,
                                                  int64_t batch_count, const tilewright_options* options,
                                                  tilewright_info_mode info_mode, int* info);

/** An interleaved batch: element (i, j) of problem p of A lies at a[(p / block) * block * lda * columns + (j
 * * lda + i) * block + p % block]. block = batch_count interleaves the whole batch. The last block is stored
 * whole. */
tilewright_status tilewright_gemm_interleaved_batched(tilewright_context* context, tilewright_dtype dtype,
                                                      tilewright_op op_a, tilewright_op op_b, int64_t m,
                                                      int64_t n, int64_t k, const void* alpha, const void* a,
                                                      int64_t lda, const void* b, int64_t ldb,
                                                      const void* beta, void* c, int64_t ldc, int64_t block,
                                                      int64_t batch_count, const tilewright_options* options,
                                                      tilewright_info_mode info_mode, int* info);

/** group_count groups, group g of group_size[g] problems of one shape: op_a ... ldc hold a value per group,
 * alpha and beta are arrays of group_count elements, and a, b, c hold the pointers of all problems, group
 * after group. With location = device the matrices and the arrays a, b and c lie there, all others on the
 * host. */
tilewright_status tilewright_gemm_grouped_batched(
    tilewright_context* context, tilewright_dtype dtype, const tilewright_op* op_a, const tilewright_op* op_b,
    const int64_t* m, const int64_t* n, const int64_t* k, const void* alpha, const void* const* a,
    const int64_t* lda, const void* const* b, const int64_t* ldb, const void* beta, void* const* c,
    const int64_t* ldc, int64_t group_count, const int64_t* group_size, const tilewright_options* options,
    tilewright_info_mode info_mode, int* info);

/** batch_count problems, each with its own entry in every array. With location = device the arrays lie in
 * device memory too, and the host reads none of them; then op_a and op_b each point to one operation on the
 * host for all problems, alpha and beta are one value unless options.alpha_per_problem or beta_per_problem is
 * set, no size may exceed options.max_m, max_n and max_k, and a problem with a bad size, leading dimension or
 * pointer is skipped, which only info reports.
 * @see MAGMA xgemm_vbatched */
tilewright_status tilewright_gemm_variable_batched(
    tilewright_context* context, tilewright_dtype dtype, const tilewright_op* op_a, const tilewright_op* op_b,
    const int64_t* m, const int64_t* n, const int64_t* k, const void* alpha, const void* const* a,
    const int64_t* lda, const void* const* b, const int64_t* ldb, const void* beta, void* const* c,
    const int64_t* ldc, int64_t batch_count, const tilewright_options* options,
    tilewright_info_mode info_mode, int* info);

/** C = alpha * (op(A_0) op(B_0) + op(A_1) op(B_1) + ...) + beta * C: the products of a batch accumulated into
 * one C. batch_count = 0 leaves beta * C. In device memory (options.location) for sizes up to 64; pointers
 * lie there too, alpha and beta on the host.
 * @see batch-reduce GEMM (Georganas et al. 2020) */
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

/** One product of a stack: the places where its matrices begin, in elements from the stack's a, b and c. */
typedef struct {
  int64_t a, b, c;
} tilewright_stack_offsets;
/** One product of a stack: the addresses of its matrices. */
typedef struct {
  const void* a;
  const void* b;
  void* c;
} tilewright_stack_pointers;

/** `count` products of one shape, alpha * op(A) * op(B) each, listed by offsets or by pointers; the other is
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

/** Each C that the stacks name becomes beta * C plus the sum of all products that name it; C may repeat, in
 * runs or anywhere, which no other call allows. With options.location = TILEWRIGHT_DEVICE matrices and lists
 * lie in device memory, and the host does not read the lists: products of one C must be adjacent in their
 * list, and only with beta = 1 may two stacks name one C. Sizes up to 64, by columns; queued on
 * options.stream. A plan of stacks accepts any order.
 * @see DBCSR (Borstnik et al. 2014) */
tilewright_status tilewright_gemm_stack(tilewright_context* context, tilewright_dtype dtype,
                                        const tilewright_stack* stacks, int64_t stack_count, const void* beta,
                                        const tilewright_options* options);

/** Stacks in device memory whose lists are sorted by C once, kept there and run many times. */
typedef struct tilewright_stack_plan tilewright_stack_plan;
/** Creates a plan of stacks. `lists` is the memory that holds offsets and pointers; lists in device memory
 * are read back, which waits for the device. C may repeat anywhere. The lists may be freed when this returns;
 * the plan names the matrices by their addresses. On failure *plan is null. */
tilewright_status tilewright_stack_plan_create(tilewright_context* context, tilewright_dtype dtype,
                                               const tilewright_stack* stacks, int64_t stack_count,
                                               tilewright_location lists, const tilewright_options* options,
                                               tilewright_stack_plan** plan);
/** Destroys a plan, whose queued work must be done. */
void tilewright_stack_plan_destroy(tilewright_stack_plan* plan);
/** Runs a plan, queued on `stream` (a CUstream; null: the default one): nothing is waited for, allocated or
 * compiled. tilewright_stack_plan_last_error has the message of a failure. */
tilewright_status tilewright_stack_plan_run(const tilewright_stack_plan* plan, const void* beta,
                                            void* stream);
/** Returns the products and the kernel of each launch. It is valid as long as the plan. */
const char* tilewright_stack_plan_explain(const tilewright_stack_plan* plan);
/** Returns what tilewright_last_error does, for runs by this thread. */
const char* tilewright_stack_plan_last_error(const tilewright_stack_plan* plan);

/** Make pinned host memory, from which products of host operands on GPUs stream at the full rate of the link:
 * allocate it, uninitialised, or pin the caller's own memory in place until the handle is destroyed. On
 * failure *pinned is null; UNSUPPORTED without a GPU. Handles may outlive their context. */
tilewright_status tilewright_pinned_allocate(tilewright_context* context, int64_t bytes,
                                             tilewright_pinned** pinned);
tilewright_status tilewright_pinned_register(tilewright_context* context, void* data, int64_t bytes,
                                             tilewright_pinned** pinned);
/** Returns the address of the memory, and frees or unpins it. */
void* tilewright_pinned_data(const tilewright_pinned* pinned);
void tilewright_pinned_destroy(tilewright_pinned* pinned);

/** Makes the plans of these problems, given in their canonical text, several at a time, and compiles what
 * they need. Calls and plans with the same description and options then find everything made, calls on a GPU
 * for addresses of any alignment that options.align_bytes allows (0: any; 128 saves kernels for lesser ones).
 * They stay as long as the context, up to 4096 of them. */
tilewright_status tilewright_prepare(tilewright_context* context, const char* const* problems,
                                     int64_t problem_count, const tilewright_options* options);

/** Creates a plan for a problem in its canonical text, e.g.
 * "gemm_batched:f64:nn:m=8,n=8,k=8:strided:batch=1000000:beta=one". The plan may outlive its context. On
 * failure *plan is null. */
tilewright_status tilewright_plan_create(tilewright_context* context, const char* problem,
                                         const tilewright_options* options, tilewright_plan** plan);
/** Destroys a plan, whose queued work must be done. */
void tilewright_plan_destroy(tilewright_plan* plan);

/** Runs a plan. alpha and beta are addresses of one value of the class that the plan's problem states (zero,
 * one, general), or of arrays for per_problem. For a pointer batch a, b and c are arrays of pointers, else
 * base addresses. tilewright_plan_last_error has the message of a failure. */
tilewright_status tilewright_plan_run(const tilewright_plan* plan, const void* alpha, const void* a,
                                      const void* b, const void* beta, void* c);

/** Runs a plan on a GPU: the work is queued on `stream` (a CUstream; null: the default one) and nothing is
 * waited for, so the call can be captured in a CUDA graph, whose last launch the plan must outlive. Captured
 * calls that found their plans in a context need plans made by tilewright_prepare, and the context must
 * outlive the graph. */
tilewright_status tilewright_plan_run_on(const tilewright_plan* plan, const void* alpha, const void* a,
                                         const void* b, const void* beta, void* c, void* stream);

/** A pass of a chain: the arguments of tilewright_plan_run for all elements. A scratch number, 1 to 64,
 * replaces the address of that operand: a buffer of the chain, in which a later pass finds what an earlier
 * one wrote for the same element, and which never goes to memory; 0 for none. */
typedef struct {
  const tilewright_plan* plan; /**< of a strided batch, of one or more levels */
  const void* alpha;
  const void* a;
  const void* b;
  const void* beta;
  void* c;
  int scratch_a, scratch_b, scratch_c;
} tilewright_chain_pass;

/** Options of a chain; a null pointer means the defaults. */
typedef struct tilewright_chain_options {
  size_t struct_size TILEWRIGHT_SIZED(tilewright_chain_options);
  int threads;   /**< 0: OpenMP's default; inside a parallel region always 1 */
  int64_t piece; /**< elements in a piece; 0: by the size of a core's caches */
  void* stream;  /**< stream for passes in device memory; null: the default stream */
} tilewright_chain_options;
#define TILEWRIGHT_CHAIN_OPTIONS_INIT TILEWRIGHT_INIT(tilewright_chain_options)

/** Runs the passes in order over `count` elements, all passes over a piece that fits in the caches before the
 * next piece; results are those of the passes one after the other, bit for bit. The outermost level of each
 * plan's batch has a multiple of `count` parts. Problems of an element may read and overwrite what earlier
 * passes wrote or read of that element, and nothing of another. All plans have one type and location, on the
 * host or, without scratch, in device memory. */
tilewright_status tilewright_run_chain(tilewright_context* context, int64_t count,
                                       const tilewright_chain_pass* passes, int64_t pass_count,
                                       const tilewright_chain_options* options);

/** Returns the candidates with the reason each declined, config, wisdom match, bound. It is valid as long as
 * the plan. */
const char* tilewright_plan_explain(const tilewright_plan* plan);

/** Returns what tilewright_last_error does, for runs of this plan by this thread. */
const char* tilewright_plan_last_error(const tilewright_plan* plan);

#ifdef __cplusplus
}
#endif

#endif
