// An array as products see it, under the package's name.
#pragma once

#include "core/product/overlap.hpp"

namespace tilewright::python {

using View = ArrayView;

}  // namespace tilewright::python
