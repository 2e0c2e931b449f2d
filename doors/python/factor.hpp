// Binds factorizations and what they serve for stacks of matrices in host memory: one call per stack.
#pragma once

#include <nanobind/nanobind.h>

#include "library.hpp"

namespace tilewright::python {

void bind_factor(nanobind::module_& module, Library& library);

}  // namespace tilewright::python
