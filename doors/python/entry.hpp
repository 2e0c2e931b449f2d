// matmul as Python sees it: a function that computes the most common calls, products of two NumPy arrays
// without options, by itself, and hands everything else to the package's function of the same name.
#pragma once

#include <Python.h>

#include <string>

#include "library.hpp"

namespace tilewright::python {

// Makes a function object with this docstring, from whose first line Python reads the signature; it calls
// `general` (borrowed; kept) for other calls. Returns null with Python's error set on failure.
PyObject* make_matmul(Library& library, PyObject* general, std::string doc);

}  // namespace tilewright::python
