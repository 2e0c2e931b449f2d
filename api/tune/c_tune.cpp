// The C interface of the tuner's library.
#include "../c_handles.hpp"
#include "tilewright/tilewright_tune.h"
#include "tilewright/tune.hpp"

extern "C" tilewright_status tilewright_install_tuner(tilewright_context* context) {
  return tilewright::with_context(context,
                                  [](tilewright::Context& inner) { tilewright::install_tuner(inner); });
}
