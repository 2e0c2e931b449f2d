// Binds LU: factors, systems and inverses of matrices in host memory and, by plans, in GPU memory.
#pragma once

#include <nanobind/nanobind.h>

#include "library.hpp"

namespace tilewright::python {

void bind_lu(nanobind::module_& module, Library& library);

}  // namespace tilewright::python
