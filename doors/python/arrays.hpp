// NumPy arrays without the detour over Python's attributes: what they are, and new ones.
#pragma once

#include <Python.h>

#include <cstdint>

#include "view.hpp"

namespace tilewright::python {

// Imports NumPy's functions; to be called once, before all others. False with Python's error set.
bool import_numpy();

// Exactly numpy.ndarray, no subclass.
bool is_array(PyObject* object);

// Describes an array of one of the four element types and up to View::most_dims dimensions; false for others.
bool read_array(PyObject* array, View& to);

// Of dimension `index`, also where it splits elements.
std::int64_t stride_bytes(PyObject* array, int index);

// One of the four element types of this machine's byte order, from NumPy's description of it; false for
// others.
bool read_dtype(PyObject* dtype, DType& to);

// A new array, by rows, of unset elements: a new reference, or null with Python's error set.
PyObject* new_array(DType dtype, int ndim, const std::int64_t* shape);

}  // namespace tilewright::python
