/** @file
 * Tuning from C: searches the best configs of problems and keeps them in the context's wisdom, on request or
 * when a call misses. The functions have the meaning of tilewright/tune.hpp and are in a library of their
 * own, -ltilewright_tune; programs that never tune need not link it.
 * @par Units Times are seconds, energies joules, both per problem of a batch.
 * @par Memory The library allocates the operands of a search and frees them before the call returns.
 * @par Threads Run one search at a time and nothing else meanwhile, or times are wrong.
 * @par Errors The functions return INVALID_ARGUMENT, UNSUPPORTED (no space to search, no meter for the
 * objective, no wisdom), OUT_OF_MEMORY, IO or INTERNAL; tilewright_last_error has the message. */
#ifndef TILEWRIGHT_TUNE_H
#define TILEWRIGHT_TUNE_H

#include "tilewright/tilewright.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Options of a search; a null pointer means the defaults. */
typedef struct tilewright_tune_options {
  size_t struct_size TILEWRIGHT_SIZED(tilewright_tune_options);
  double budget_s;       /**< for all problems, filling memory included; 0: 2 s */
  const char* objective; /**< null: time; else energy, edp, alpha=0.7, energy_within=5%, which need a meter */
  const char* strategy;  /**< null: exhaustive; else random, local, model */
  int device;            /**< number of the GPU that problems in device memory lie on */
  const char* log;       /**< null, or the path of a file that receives every measurement */
  int resume;            /**< nonzero: continue from that log */
  /** null, or a function called between measurements with the problem that is searched, the number of
   * problems done and the seconds spent; if it returns 0, the search ends. */
  int (*progress)(void* data, const char* problem, int64_t done, double spent_s);
  void* progress_data;
} tilewright_tune_options;
#define TILEWRIGHT_TUNE_OPTIONS_INIT TILEWRIGHT_INIT(tilewright_tune_options)

/** The result of a search, as it was kept. */
typedef struct {
  double seconds, seconds_low, seconds_high; /**< centre and 95 % interval */
  double joules;                             /**< 0 unless the objective involves energy */
  double peer_seconds;                       /**< vendor's library in the same rounds; 0: it took no part */
  double regret;                             /**< relative cost of the default config above the winner's */
  int tie; /**< the winner was no better than the known config, which stayed */
  int64_t candidates, measured;
} tilewright_tuned;

/** Searches each of `count` problems, such as "gemm:f64:nn:m=4096,n=4096,k=4096:location=device", on the
 * calling thread. tuned has `count` places, or is null; *found, where not null, receives how many of them
 * were filled, in order: fewer than count where the budget did not suffice or progress ended the search. */
tilewright_status tilewright_tune(tilewright_context* context, const char* const* problems, int64_t count,
                                  const tilewright_tune_options* options, tilewright_tuned* tuned,
                                  int64_t* found);

/** Lets later calls whose tilewright_options.tune_on_miss_s is above 0 tune what wisdom lacks. Not while
 * other threads use the context. */
tilewright_status tilewright_install_tuner(tilewright_context* context);

#ifdef __cplusplus
}
#endif

#endif
