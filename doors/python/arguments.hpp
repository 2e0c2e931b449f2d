// The arguments of matmul that its fast path understands.
#pragma once

#include <Python.h>

#include "product.hpp"

namespace tilewright::python {

struct Arguments {
  PyObject *a = nullptr, *b = nullptr, *out = nullptr;  // borrowed; out may be null
  Factors factors{};
  bool transpose_a = false, transpose_b = false;
  int threads = 0;
  void* stream = nullptr;  // valid if stream_given
  bool stream_given = false;

  // Parses a call as CPython makes it: values by position, then those of `names`. Returns false, with no
  // error set, for a name or a value that needs the general path.
  bool parse(PyObject* const* values, Py_ssize_t count, PyObject* names);

 private:
  bool set(PyObject* name, PyObject* value);
};

}  // namespace tilewright::python
