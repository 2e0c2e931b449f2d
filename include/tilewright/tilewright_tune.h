/* Tuning from C: searches the best configs of problems and keeps them in the context's wisdom, when asked to
 * or when a call misses. The functions have the meaning of tilewright/tune.hpp and are in a library of their
 * own, -ltilewright_tune; programs that never tune need not link it. */
#ifndef TILEWRIGHT_TUNE_H
#define TILEWRIGHT_TUNE_H

#include "tilewright/tilewright.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A null pointer stands for the default. */
typedef struct tilewright_tune_options {
  size_t struct_size TILEWRIGHT_SIZED(tilewright_tune_options);
  double budget_s;       /* in all, filling memory included; 0: 2 s */
  const char* objective; /* null: time; else energy, edp, alpha=0.7, energy_within=5%, which need a meter */
  const char* strategy;  /* null: exhaustive; else random, local, model */
  int device;            /* the GPU that problems in device memory lie on */
  const char* log;       /* null, or a file that every measured turn goes to */
  int resume;            /* nonzero: go on from that log */
  /* null, or called between turns with the problem that is searched, how many are done and the seconds spent;
   * 0 ends the search. */
  int (*progress)(void* data, const char* problem, int64_t done, double spent_s);
  void* progress_data;
} tilewright_tune_options;
#define TILEWRIGHT_TUNE_OPTIONS_INIT TILEWRIGHT_INIT(tilewright_tune_options)

/* What was found and kept of a problem, per problem of its batch. */
typedef struct {
  double seconds, seconds_low, seconds_high; /* centre, and an interval of 95 % */
  double joules;                             /* 0 where the objective asks for none */
  double peer_seconds; /* of the vendor's library in the same rounds; 0: it took no part */
  double regret;       /* by what share the default config costs more */
  int tie;             /* something was as good as what was known, which stayed */
  int64_t candidates, measured;
} tilewright_tuned;

/* Searches each of `count` problems, such as "gemm:f64:nn:m=4096,n=4096,k=4096:location=device", on the
 * calling thread. tuned has `count` places, or is null; *found, where not null, receives how many of them
 * were filled, in order: fewer than count where the budget did not suffice or progress ended the search. */
tilewright_status tilewright_tune(tilewright_context* context, const char* const* problems, int64_t count,
                                  const tilewright_tune_options* options, tilewright_tuned* tuned,
                                  int64_t* found);

/* From now on calls whose tilewright_options.tune_on_miss_s is above 0 tune what wisdom lacks. Not while
 * other threads use the context. */
tilewright_status tilewright_install_tuner(tilewright_context* context);

#ifdef __cplusplus
}
#endif

#endif
