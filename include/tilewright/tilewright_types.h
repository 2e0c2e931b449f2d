/* What the headers of the C interface have in common: statuses, kinds, handles, options. */
#ifndef TILEWRIGHT_TYPES_H
#define TILEWRIGHT_TYPES_H

#include <stddef.h>
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
  TILEWRIGHT_INFO_NONE = 0,
  TILEWRIGHT_INFO_ALL = 1,
  TILEWRIGHT_INFO_GROUP = 2,
  TILEWRIGHT_INFO_ANY = 3,
  TILEWRIGHT_INFO_LIMIT = 0x7fffffff
} tilewright_info_mode;

typedef struct tilewright_context
    tilewright_context;                         /* knows the machine, keeps kernels; usable by many threads */
typedef struct tilewright_plan tilewright_plan; /* what runs one problem; usable by many threads */
typedef struct tilewright_pinned tilewright_pinned; /* pinned host memory */

/* Structs of options begin with their size, so that a library of a later release, which has more members,
 * still serves programs compiled with this header: TILEWRIGHT_OPTIONS_INIT and its like set it, in C++ {}
 * does. All other members are zero by default; a null pointer stands for that, too. */
#ifdef __cplusplus
#define TILEWRIGHT_SIZED(type) = sizeof(type)
#define TILEWRIGHT_INIT(type) \
  {}
#else
#define TILEWRIGHT_SIZED(type)
#define TILEWRIGHT_INIT(type) \
  { .struct_size = sizeof(type) }
#endif
#define TILEWRIGHT_OPTIONS_INIT TILEWRIGHT_INIT(tilewright_options)
#define TILEWRIGHT_CONTEXT_OPTIONS_INIT TILEWRIGHT_INIT(tilewright_context_options)

typedef struct tilewright_options {
  size_t struct_size TILEWRIGHT_SIZED(tilewright_options);
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
  double objective_weight; /* of ALPHA: what time counts for, 0 (energy alone, not "none given") to 1; of
                              ENERGY_WITHIN: by what share the fastest may be exceeded, 0: 5 % */
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
  int64_t max_m, max_n, max_k; /* of variable batches in device memory: upper bounds of the sizes, at most 64,
                                  for which kernels are made; 0: 64 */
} tilewright_options;

typedef struct tilewright_context_options {
  size_t struct_size TILEWRIGHT_SIZED(tilewright_context_options);
  const char* cpu; /* null or "": TILEWRIGHT_CPU or the best the machine has, else portable, avx2, avx512 */
  const char* wisdom; /* null, or a file (database or JSON lines) to believe before the shipped ones */
  int no_wisdom;      /* nonzero: every config is the rule-of-thumb default */
  int no_jit;         /* nonzero: GPU kernels are compiled by tilewright_prepare alone */
  int no_notices;     /* nonzero: nothing is said on stderr of problems that wisdom has no record of */
} tilewright_context_options;

#ifdef __cplusplus
}
#endif

#endif
