// Makers of arrays that matmul's short way knows beside NumPy, each registered with the package's Python half
// by the type of its arrays.
#pragma once

#include <Python.h>

#include <memory>
#include <vector>

#include "exchange.hpp"
#include "view.hpp"

namespace tilewright::python {

class Maker {
 public:
  virtual ~Maker() = default;
  // False, with no error set, for what the long way has to look at.
  virtual bool read(PyObject* array, View& to) const = 0;
  // The maker's current stream; false likewise.
  virtual bool stream(const View& view, void*& to) const = 0;
  // A new array like `like` of this shape: a new reference, or null with Python's error set.
  PyObject* make(PyObject* like, const View& shape) const;

  PyTypeObject* type = nullptr;
  PyObject* empty = nullptr;  // callable(like, shape)
};

// The maker of arrays of exactly this type; null where none is registered. Makers stay for good.
class Makers {
 public:
  const Maker* find(PyTypeObject* type) const;
  // By the table of the type; false where it has none that can be read. `type` and `empty` are kept, and
  // `derivatives`: a dictionary whose _current_level is not negative while forward derivatives are open, or
  // None.
  bool add_exchanging(PyObject* type, PyObject* empty, PyObject* derivatives);
  // By attributes as CuPy's arrays have them; `stream` is a callable(device) that gives an address.
  bool add_attributed(PyObject* type, PyObject* empty, PyObject* stream);

 private:
  std::vector<std::unique_ptr<Maker>> makers_;
};

}  // namespace tilewright::python
