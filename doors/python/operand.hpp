// Operands as the package's Python half passes them: NumPy arrays, and descriptions of arrays that other
// packages made.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "view.hpp"

namespace tilewright::python {

// Describes an array of any maker and keeps nothing alive.
struct Operand {
  View view;
};

// Accepts "f32", "float32" and so on. Throws Error naming other texts.
DType parse_dtype(const std::string& name);

// Describes a NumPy array or an Operand; throws Error naming `name` for anything else.
View view_of(const char* name, nanobind::handle object);

void bind_operand(nanobind::module_& module);

}  // namespace tilewright::python
