// Binds conversions and products of interleaved batches.
#pragma once

#include <nanobind/nanobind.h>

#include "library.hpp"

namespace tilewright::python {

void bind_interleaved(nanobind::module_& module, Library& library);

}  // namespace tilewright::python
