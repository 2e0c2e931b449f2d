// Accepts exact types alone: the general path decides about values that merely resemble a number or a bool.
#include "arguments.hpp"

namespace tilewright::python {
namespace {

bool read_bool(PyObject* value, bool& to) {
  to = value == Py_True;
  return to || value == Py_False;
}

bool read_integer(PyObject* value, std::int64_t most, std::int64_t& to) {
  if (PyLong_CheckExact(value) == 0) return false;
  to = PyLong_AsLongLong(value);
  if (to == -1) PyErr_Clear();
  return to >= 0 && to <= most;
}

bool read_factor(PyObject* value, std::complex<double>& to) {
  if (PyFloat_CheckExact(value) != 0) {
    to = PyFloat_AsDouble(value);
    return true;
  }
  if (PyComplex_CheckExact(value) != 0) {
    to = {PyComplex_RealAsDouble(value), PyComplex_ImagAsDouble(value)};
    return true;
  }
  if (PyLong_CheckExact(value) == 0) return false;
  to = PyLong_AsDouble(value);
  if (PyErr_Occurred() == nullptr) return true;
  PyErr_Clear();
  return false;
}

bool is(PyObject* name, const char* text) { return PyUnicode_CompareWithASCIIString(name, text) == 0; }

}  // namespace

bool Arguments::set(PyObject* name, PyObject* value) {
  if (is(name, "out")) {
    if (out != nullptr) return false;
    out = value == Py_None ? nullptr : value;
    return true;
  }
  if (is(name, "alpha")) return read_factor(value, factors.alpha);
  if (is(name, "beta")) return read_factor(value, factors.beta);
  if (is(name, "transpose_a")) return read_bool(value, transpose_a);
  if (is(name, "transpose_b")) return read_bool(value, transpose_b);
  if (is(name, "conjugate_a")) return read_bool(value, factors.conj_a);
  if (is(name, "conjugate_b")) return read_bool(value, factors.conj_b);
  std::int64_t number = 0;
  if (is(name, "threads")) {
    const bool read = read_integer(value, 4096, number);
    threads = int(number);
    return read;
  }
  if (is(name, "stream")) {
    if (value == Py_None) return true;
    stream_given = read_integer(value, INT64_MAX, number);
    stream = reinterpret_cast<void*>(number);
    return stream_given;
  }
  return false;
}

bool Arguments::parse(PyObject* const* values, Py_ssize_t count, PyObject* names) {
  if (count < 2 || count > 3) return false;
  a = values[0], b = values[1];
  if (count == 3 && values[2] != Py_None) out = values[2];
  const Py_ssize_t named = names == nullptr ? 0 : PyTuple_Size(names);
  for (Py_ssize_t i = 0; i < named; ++i)
    if (!set(PyTuple_GetItem(names, i), values[count + i])) return false;
  return factors.beta == 0.0 || out != nullptr;
}

}  // namespace tilewright::python
