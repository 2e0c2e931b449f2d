// explain, prepare and record, of problems that are written down or that arrays are.
#pragma once

#include <nanobind/nanobind.h>

#include "library.hpp"

namespace tilewright::python {

void bind_learning(nanobind::module_& module, Library& library);

}  // namespace tilewright::python
