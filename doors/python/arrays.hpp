// Reads and makes NumPy arrays without the detour over Python's attributes.
#pragma once

#include <Python.h>

#include <cstdint>

#include "view.hpp"

namespace tilewright::python {

// Imports NumPy's functions; call it once, before all others. Returns false with Python's error set if the
// import fails.
bool import_numpy();

// True for exactly numpy.ndarray, false for subclasses.
bool is_array(PyObject* object);

// Describes an array of one of the four element types and up to View::most_dims dimensions; returns false for
// others.
bool read_array(PyObject* array, View& to);

// Returns the stride of dimension `index`, also if it splits elements.
std::int64_t stride_bytes(PyObject* array, int index);

// Reads one of the four element types of this machine's byte order from NumPy's description of it; returns
// false for others.
bool read_dtype(PyObject* dtype, DType& to);

// Makes an array, by rows, of unset elements: a new reference, or null with Python's error set.
PyObject* new_array(DType dtype, int ndim, const std::int64_t* shape);

}  // namespace tilewright::python
