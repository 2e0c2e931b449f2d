// LU: factors, systems, inverses, of matrices in host memory and, by plans, in that of a GPU.
#pragma once

#include <nanobind/nanobind.h>

#include "library.hpp"

namespace tilewright::python {

void bind_lu(nanobind::module_& module, Library& library);

}  // namespace tilewright::python
