// matmul as Python sees it: a function that serves what most calls are, products of two NumPy arrays without
// options, by itself, and hands everything else to the package's function of the same name.
#pragma once

#include <Python.h>

#include <string>

#include "library.hpp"

namespace tilewright::python {

// A new function object with this docstring, from whose first line Python reads the signature; it calls
// `general` (borrowed; kept) for what it does not serve. Null with Python's error set.
PyObject* make_matmul(Library& library, PyObject* general, std::string doc);

}  // namespace tilewright::python
