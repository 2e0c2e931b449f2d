// An array as products see it, under the name that it has in this package.
#pragma once

#include "core/product/array_view.hpp"

namespace tilewright::python {

using View = ArrayView;

}  // namespace tilewright::python
