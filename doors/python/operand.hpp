// Operands as the package's Python half hands them over: NumPy arrays as they are, and descriptions of arrays
// that others made.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "view.hpp"

namespace tilewright::python {

// What describes an array of any maker: it keeps nothing alive.
struct Operand {
  View view;
};

// "f32", "float32" and so on. Throws Error naming other texts.
DType parse_dtype(const std::string& name);

// Of a NumPy array or an Operand; throws Error naming `name` for anything else.
View view_of(const char* name, nanobind::handle object);

void bind_operand(nanobind::module_& module);

}  // namespace tilewright::python
