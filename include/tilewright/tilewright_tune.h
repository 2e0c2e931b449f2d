/* Tuning from C: gives a context the tuner that tilewright_options.tune_on_miss_s asks for. The function is
 * in a library of its own, -ltilewright_tune; programs that never tune need not link it. */
#ifndef TILEWRIGHT_TUNE_H
#define TILEWRIGHT_TUNE_H

#include "tilewright/tilewright.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Not while other threads use the context. */
tilewright_status tilewright_install_tuner(tilewright_context* context);

#ifdef __cplusplus
}
#endif

#endif
