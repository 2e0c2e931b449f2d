// How what the library throws becomes Python's errors.
#pragma once

#include <Python.h>

#include <exception>

namespace tilewright::python {

// Sets Python's error to what is being thrown: ValueError for bad arguments, NotImplementedError for what
// nothing serves, MemoryError, OSError, and RuntimeError for the rest. To be called in a handler.
void set_python_error();

// The same for nanobind, which translates its own.
void translate_error(const std::exception_ptr& error, void* unused);

}  // namespace tilewright::python
