// Multiplies lists of arrays, each with a shape of its own, in one call of the library.
#pragma once

#include <nanobind/nanobind.h>

#include "library.hpp"

namespace tilewright::python {

void bind_lists(nanobind::module_& module, Library& library);

}  // namespace tilewright::python
