// Options of LU as the C interface has them.
#pragma once

#include "tilewright/lu.hpp"
#include "tilewright/tilewright.h"

namespace tilewright {

// Throws Error(invalid_argument) naming the field that has no such value.
LuOptions to_lu_options(const tilewright_lu_options* options);

}  // namespace tilewright
