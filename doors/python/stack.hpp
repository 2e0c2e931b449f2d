// Stacks: lists of products of blocks, of which several may be added to one, as block-sparse matrices are
// multiplied.
#pragma once

#include <nanobind/nanobind.h>

#include "library.hpp"

namespace tilewright::python {

void bind_stack(nanobind::module_& module, Library& library);

}  // namespace tilewright::python
