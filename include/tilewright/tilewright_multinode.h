/** @file
 * The C interface of LU of a matrix that several processes have, as tilewright/multinode.hpp has it. A build
 * with TILEWRIGHT_MULTINODE=OFF does not have these functions.
 * @par Units Sizes, blocks and leading dimensions are 64-bit and count elements.
 * @par Memory The caller owns matrices, pivots and the team; a call keeps none of them.
 * @par Threads Members may be processes, or threads with a context each; a context's GPU serves one
 *   factorization at a time.
 * @par Errors The functions return INVALID_ARGUMENT, UNSUPPORTED, OUT_OF_MEMORY, INTERNAL or DEVICE_LOST;
 *   tilewright_last_error has the message. */
#ifndef TILEWRIGHT_MULTINODE_H
#define TILEWRIGHT_MULTINODE_H

#include "tilewright/tilewright.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Processes, or threads with a context each, among which the columns of a matrix are dealt: block j of nb
 * columns belongs to member j mod members. broadcast sends bytes (a multiple of 4) at data, in host memory,
 * from member owner to all others, is called by all of them in the same order, and returns 0; with another
 * value the factorization ends and fails. */
typedef struct {
  int members;
  int own; /**< number of this member, from 0 on */
  int (*broadcast)(void* user, void* data, int64_t bytes, int owner);
  void* user;
} tilewright_lu_team;

/** Factors, as tilewright_lu_factor, an m x n matrix whose columns a team has, each member on one GPU. a
 * holds the member's own blocks of nb columns side by side; all members receive all pivots; *info is the
 * first zero pivot of the member's own blocks. Only gpus and gpu_memory_bytes of the options matter. After a
 * failure that follows the first broadcast a and the calls of other members are undefined.
 * @see LAPACK xGETRF */
tilewright_status tilewright_lu_factor_cyclic(tilewright_context* context, tilewright_dtype dtype, int64_t m,
                                              int64_t n, int64_t nb, void* a, int64_t lda, int64_t* pivots,
                                              int64_t* info, const tilewright_lu_team* team,
                                              const tilewright_lu_options* options);

/** Returns TILEWRIGHT_OK if this member can take part in it, else TILEWRIGHT_UNSUPPORTED with the reason as
 * the last error. It contacts no other member. */
tilewright_status tilewright_lu_can_factor_cyclic(tilewright_context* context, tilewright_dtype dtype,
                                                  int64_t m, int64_t n, int64_t nb,
                                                  const tilewright_lu_team* team,
                                                  const tilewright_lu_options* options);

#ifdef __cplusplus
}
#endif

#endif
