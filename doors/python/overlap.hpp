// Computes where the elements of arrays lie, so that callers can test whether arrays share any.
#pragma once

#include <nanobind/nanobind.h>

#include "core/product/overlap.hpp"
#include "view.hpp"

namespace tilewright::python {

// Takes a NumPy array or an Operand; throws Error naming `name` for anything else.
Footprint footprint_of(const char* name, nanobind::handle object);

void bind_overlap(nanobind::module_& module);

}  // namespace tilewright::python
