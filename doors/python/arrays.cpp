// The one file that uses NumPy's C interface. Compiled against NumPy 2 it serves NumPy 1.x too.
#include "arrays.hpp"

#define NPY_NO_DEPRECATED_API NPY_1_7_API_VERSION
#include <numpy/arrayobject.h>

namespace tilewright::python {
namespace {

bool dtype_of_number(int number, DType& to) {
  switch (number) {
    case NPY_FLOAT:
      to = DType::f32;
      return true;
    case NPY_DOUBLE:
      to = DType::f64;
      return true;
    case NPY_CFLOAT:
      to = DType::c64;
      return true;
    case NPY_CDOUBLE:
      to = DType::c128;
      return true;
    default:
      return false;
  }
}

int number_of(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return NPY_FLOAT;
    case DType::f64:
      return NPY_DOUBLE;
    case DType::c64:
      return NPY_CFLOAT;
    case DType::c128:
      return NPY_CDOUBLE;
  }
  return NPY_DOUBLE;
}

}  // namespace

bool import_numpy() { return PyArray_ImportNumPyAPI() == 0; }

bool is_array(PyObject* object) { return PyArray_CheckExact(object); }

bool read_array(PyObject* object, View& to) {
  auto* array = reinterpret_cast<PyArrayObject*>(object);
  if (!dtype_of_number(PyArray_TYPE(array), to.dtype)) return false;
  to.data = PyArray_BYTES(array);
  to.location = Location::host;
  to.device = 0;
  to.read_only = !PyArray_ISWRITEABLE(array);
  to.regular = PyArray_ISBEHAVED_RO(array);
  to.ndim = PyArray_NDIM(array);
  const npy_intp size = npy_intp(size_bytes(to.dtype));
  for (int i = 0; i < to.ndim; ++i) {
    const npy_intp stride = PyArray_STRIDE(array, i);
    to.shape[i] = PyArray_DIM(array, i);
    to.strides[i] = stride / size;
    if (stride % size != 0 && to.shape[i] > 1) to.regular = false;
  }
  return true;
}

std::int64_t stride_bytes(PyObject* array, int index) {
  return PyArray_STRIDE(reinterpret_cast<PyArrayObject*>(array), index);
}

bool read_dtype(PyObject* dtype, DType& to) {
  if (!PyArray_DescrCheck(dtype)) return false;
  auto* description = reinterpret_cast<PyArray_Descr*>(dtype);
  return PyArray_ISNBO(description->byteorder) && dtype_of_number(description->type_num, to);
}

PyObject* new_array(DType dtype, int ndim, const std::int64_t* shape) {
  npy_intp dims[View::most_dims];
  for (int i = 0; i < ndim; ++i) dims[i] = npy_intp(shape[i]);
  return PyArray_SimpleNew(ndim, dims, number_of(dtype));
}

}  // namespace tilewright::python
