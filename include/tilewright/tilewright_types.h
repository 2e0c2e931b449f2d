/** @file
 * Statuses, enumerations, handles and options that the headers of the C interface share. It declares no
 * function. Options may be shared by calls of any number of threads, as long as nobody changes them; calls
 * copy what they need before they return. */
#ifndef TILEWRIGHT_TYPES_H
#define TILEWRIGHT_TYPES_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The result of a call; ErrorCode of tilewright/types.hpp has the same numbers. */
typedef enum {
  TILEWRIGHT_OK = 0,               /**< the call succeeded */
  TILEWRIGHT_INVALID_ARGUMENT = 1, /**< an argument has a value that no call accepts; nothing was written */
  TILEWRIGHT_UNSUPPORTED = 2,      /**< nothing in this build or on this machine serves valid arguments */
  TILEWRIGHT_OUT_OF_MEMORY = 3,    /**< the host or a GPU has too little free memory for the call */
  TILEWRIGHT_IO = 4,               /**< a file could not be read or written; the message names it */
  TILEWRIGHT_INTERNAL = 5,         /**< the library, a driver or a vendor's library failed by itself */
  TILEWRIGHT_DEVICE_LOST = 6 /**< a GPU failed in mid-call; the message says which part of C is missing */
} tilewright_status;

/** Element types: float, double, and pairs (real, imaginary) of them. alpha and beta are passed by address.
 */
typedef enum {
  TILEWRIGHT_F32 = 0,
  TILEWRIGHT_F64 = 1,
  TILEWRIGHT_C64 = 2,
  TILEWRIGHT_C128 = 3,
  TILEWRIGHT_DTYPE_LIMIT =
      0x7fffffff /* not a value: lets the compiler store every int, which calls then refuse */
} tilewright_dtype;
/** op(X) = X, X transposed, or X transposed and conjugated. */
typedef enum {
  TILEWRIGHT_NONE = 0,
  TILEWRIGHT_TRANS = 1,
  TILEWRIGHT_CONJ_TRANS = 2,
  TILEWRIGHT_OP_LIMIT = 0x7fffffff
} tilewright_op;
/** The processors that may compute. */
typedef enum {
  TILEWRIGHT_TARGET_AUTO = 0,
  TILEWRIGHT_TARGET_CPU = 1,
  TILEWRIGHT_TARGET_GPU = 2,
  TILEWRIGHT_TARGET_HYBRID = 3,
  TILEWRIGHT_TARGET_LIMIT = 0x7fffffff
} tilewright_target;
/** The cost that a call minimises. */
typedef enum {
  TILEWRIGHT_OBJECTIVE_TIME = 0,
  TILEWRIGHT_OBJECTIVE_ENERGY = 1,
  TILEWRIGHT_OBJECTIVE_EDP = 2,
  TILEWRIGHT_OBJECTIVE_ALPHA = 3,         /* time and energy, weighted by objective_weight */
  TILEWRIGHT_OBJECTIVE_ENERGY_WITHIN = 4, /* the least energy among what is nearly the fastest */
  TILEWRIGHT_OBJECTIVE_LIMIT = 0x7fffffff
} tilewright_objective;
/** The memory in which the caller expects the operands; AUTO derives it from the bytes of the call. */
typedef enum {
  TILEWRIGHT_RESIDENCY_AUTO = 0,
  TILEWRIGHT_RESIDENCY_COLD = 1,
  TILEWRIGHT_RESIDENCY_L2 = 2,
  TILEWRIGHT_RESIDENCY_L1 = 3,
  TILEWRIGHT_RESIDENCY_LIMIT = 0x7fffffff
} tilewright_residency;
/** How calls follow one another: in a loop, or one at a time with other work of the program between them. */
typedef enum {
  TILEWRIGHT_ARRIVAL_BACK_TO_BACK = 0,
  TILEWRIGHT_ARRIVAL_IDLE = 1,
  TILEWRIGHT_ARRIVAL_LIMIT = 0x7fffffff
} tilewright_arrival;

/** The rule that divides a product of host operands among the CPU and the GPUs. MODEL: by the models of the
 * machine. GUIDED and EXHAUSTIVE: by timing at the first call, around the models' share or over all shares.
 * FIXED: the CPU gets cpu_share. */
typedef enum {
  TILEWRIGHT_SPLIT_MODEL = 0,
  TILEWRIGHT_SPLIT_GUIDED = 1,
  TILEWRIGHT_SPLIT_EXHAUSTIVE = 2,
  TILEWRIGHT_SPLIT_FIXED = 3,
  TILEWRIGHT_SPLIT_LIMIT = 0x7fffffff
} tilewright_split;

/** The fate of the part of C that a GPU has not brought back when it fails. */
typedef enum {
  TILEWRIGHT_ON_DEVICE_FAILURE_ERROR = 0, /* the call fails and says which part is undefined */
  TILEWRIGHT_ON_DEVICE_FAILURE_REDO = 1,  /* the CPU computes it */
  TILEWRIGHT_ON_DEVICE_FAILURE_LIMIT = 0x7fffffff
} tilewright_on_device_failure;

/** Whether plans learn from the calls that a program makes. CALLS: in the first 100 calls of a plan of a
 * problem that wisdom has no exact record of up to three of its best configs and implementations run in turn;
 * the fastest stays, and the user's wisdom keeps it. Early calls may differ in their last bits. */
typedef enum {
  TILEWRIGHT_LEARN_AUTOMATIC = 0, /* as the variable TILEWRIGHT_LEARN says, else OFF */
  TILEWRIGHT_LEARN_OFF = 1,
  TILEWRIGHT_LEARN_CALLS = 2,
  TILEWRIGHT_LEARN_LIMIT = 0x7fffffff
} tilewright_learn;

/** The memory that holds the operands of a call. One alpha or beta for all problems lies on the host. The
 * info array lies where the operands do: on a GPU the queued work writes it. */
typedef enum {
  TILEWRIGHT_HOST = 0,
  TILEWRIGHT_DEVICE = 1,
  TILEWRIGHT_LOCATION_LIMIT = 0x7fffffff
} tilewright_location;

/** The contents of an info array: a code per problem, per group, or one for the call. A code is 0, or -i if
 * argument i of the BLAS routine is bad (op_a = 1, op_b, m, n, k, alpha, a = 7, lda, b, ldb, beta, c = 12,
 * ldc = 13). Bad problems are skipped and the others computed. With INFO_NONE, or a null array, one bad
 * argument fails the call before anything is written.
 * @see Batched BLAS (Dongarra et al. 2017) */
typedef enum {
  TILEWRIGHT_INFO_NONE = 0,
  TILEWRIGHT_INFO_ALL = 1,
  TILEWRIGHT_INFO_GROUP = 2,
  TILEWRIGHT_INFO_ANY = 3,
  TILEWRIGHT_INFO_LIMIT = 0x7fffffff
} tilewright_info_mode;

/** The machine, the user's wisdom, and all kernels and plans made so far. */
typedef struct tilewright_context tilewright_context;
/** The implementation that runs one problem. */
typedef struct tilewright_plan tilewright_plan;
/** Pinned host memory. */
typedef struct tilewright_pinned tilewright_pinned;

/* Structs of options begin with their size, so that a library of a later release, which has more members,
 * still serves programs compiled with this header: TILEWRIGHT_OPTIONS_INIT and its like set it, in C++ {}
 * does. All other members are zero by default; a null pointer means the defaults. */
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

/** Options of a call or a plan. WHAT describes the operands of a call, as views do in C++; a plan's problem
 * states it in its text, so that tilewright_plan_create refuses the fields about alpha, beta and rows. WHERE
 * and HOW are GemmOptions of tilewright/options.hpp. */
typedef struct tilewright_options {
  size_t struct_size TILEWRIGHT_SIZED(tilewright_options);
  /* WHAT */
  int location;  /**< tilewright_location of the operands */
  int row_major; /**< nonzero: the matrices lie by rows, and lda, ldb, ldc count from one row to the next;
                    plans and variable batches in device memory are by columns */
  int alpha_per_problem; /**< nonzero: alpha is an array of batch_count values, which lies where the operands
                              do; for batches of one shape, and variable ones on a GPU */
  int beta_per_problem;  /**< the same for beta */
  int64_t max_m, max_n, max_k; /**< variable batches in device memory: upper bounds of the sizes, at most 512,
                                    for which launches are made; 0: 64 */
  /* WHERE, for operands in device memory */
  int device;      /**< number of the GPU that they lie on */
  void* stream;    /**< a CUstream (cudaStream_t) of that GPU that calls are queued on; null: its default */
  int align_bytes; /**< plans: power of two that divides all addresses; 0: 128. Calls derive it themselves */
  /* HOW */
  int target;              /**< tilewright_target */
  int objective;           /**< tilewright_objective */
  double objective_weight; /**< ALPHA: weight of time, 0 (energy alone) to 1. ENERGY_WITHIN: share by which
                              the fastest may be exceeded; 0: 5 % */
  int threads;             /**< threads of the host; 0: OpenMP's default. Inside a parallel region always 1 */
  int checked;             /**< nonzero: also finds overlapping C in batches of pointers */
  int residency;           /**< tilewright_residency: expected memory of the operands */
  int arrival;             /**< tilewright_arrival: the calls that configs of wisdom were tuned for */
  const char* candidate;   /**< null: the first implementation that accepts; else this one */
  const char* config;      /**< null: from wisdom, then the default; else JSON of fields that override it */
  double tune_on_miss_s;   /**< seconds for which a problem without an exact record in wisdom is tuned before
                                the call goes on; 0: never. Needs tilewright_install_tuner */
  /* HOW GPUs share products of single matrices in host memory */
  const int* gpus;          /**< numbers of GPUs that may be used; null: all */
  int gpu_count;            /**< entries of gpus */
  int64_t gpu_memory_bytes; /**< upper bound for each GPU; 0: all that is free */
  int split;                /**< tilewright_split */
  double cpu_share;         /**< SPLIT_FIXED: the CPU's part of C, 0 to 1 */
  int on_device_failure;    /**< tilewright_on_device_failure */
  int learn;                /**< tilewright_learn: whether the plan learns from its calls */
} tilewright_options;

/** A function of the caller's that receives notices, texts that are valid until it returns.
 * @par Threads It runs on the thread whose call made the notice, on several at once if need be, and must not
 * call the library.
 * @par Errors It must not throw or jump. */
typedef void (*tilewright_notice_function)(const char* notice, void* user);

/** Options of a context, read once when it is made. */
typedef struct tilewright_context_options {
  size_t struct_size TILEWRIGHT_SIZED(tilewright_context_options);
  const char* cpu;    /**< null or "": TILEWRIGHT_CPU or the best of the machine; or portable, avx2, avx512 */
  const char* wisdom; /**< null, or a file (database or JSON lines) that takes precedence over shipped ones */
  int no_wisdom;      /**< nonzero: every config is the rule-of-thumb default */
  int no_jit;         /**< nonzero: only tilewright_prepare compiles GPU kernels */
  int no_notices; /**< nonzero: does not note the problems that wisdom has no record of; TILEWRIGHT_NOTICES=on
                     prints them */
  tilewright_notice_function on_notice; /**< null, or receives each notice once */
  void* notice_user;                    /**< handed to on_notice */
} tilewright_context_options;

#ifdef __cplusplus
}
#endif

#endif
