// Multiplies stacks: lists of products of blocks, several of which may be added to one block, as in
// block-sparse matrices.
#pragma once

#include <nanobind/nanobind.h>

#include "library.hpp"

namespace tilewright::python {

void bind_stack(nanobind::module_& module, Library& library);

}  // namespace tilewright::python
