// Binds explain, prepare and record for problems given as texts or as arrays.
#pragma once

#include <nanobind/nanobind.h>

#include "library.hpp"

namespace tilewright::python {

void bind_learning(nanobind::module_& module, Library& library);

}  // namespace tilewright::python
