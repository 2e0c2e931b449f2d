// Translates exceptions of the library to Python's errors.
#pragma once

#include <Python.h>

#include <exception>

namespace tilewright::python {

// Sets Python's error from the exception in flight: ValueError for bad arguments, NotImplementedError for
// unsupported calls, MemoryError, OSError, and RuntimeError for the rest. Call it in a handler.
void set_python_error();

// The same for nanobind, which translates its own exceptions.
void translate_error(const std::exception_ptr& error, void* unused);

}  // namespace tilewright::python
