// One class of Python's own for each code: programs that catch ValueError need not know of this package.
#include "errors.hpp"

#include <new>

#include "tilewright/types.hpp"

namespace tilewright::python {
namespace {

PyObject* class_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::invalid_argument:
      return PyExc_ValueError;
    case ErrorCode::out_of_memory:
      return PyExc_MemoryError;
    case ErrorCode::io:
      return PyExc_OSError;
    case ErrorCode::unsupported:
      return PyExc_NotImplementedError;
    default:
      return PyExc_RuntimeError;
  }
}

}  // namespace

void set_python_error() {
  try {
    throw;
  } catch (const Error& error) {
    PyErr_SetString(class_of(error.code()), error.what());
  } catch (const std::bad_alloc&) {
    PyErr_NoMemory();
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
  }
}

void translate_error(const std::exception_ptr& error, void*) {
  try {
    std::rethrow_exception(error);
  } catch (const Error&) {
    set_python_error();
  }
}

}  // namespace tilewright::python
