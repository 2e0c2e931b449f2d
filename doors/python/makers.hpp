// The makers of arrays other than NumPy that matmul's fast path supports, each registered by the package's
// Python half with the type of its arrays.
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
  // Returns false, with no error set, if the array needs the general path.
  virtual bool read(PyObject* array, View& to) const = 0;
  // Sets the maker's current stream; returns false likewise.
  virtual bool stream(const View& view, void*& to) const = 0;
  // Makes an array like `like` of this shape: a new reference, or null with Python's error set.
  PyObject* make(PyObject* like, const View& shape) const;

  PyTypeObject* type = nullptr;
  PyObject* empty = nullptr;  // callable(like, shape)
};

// Finds the maker of arrays of exactly this type; null if none is registered. Makers are never removed.
class Makers {
 public:
  const Maker* find(PyTypeObject* type) const;
  // Adds a maker by the exchange table of the type; returns false if the type has no table that can be read.
  // Keeps `type`, `empty` and `derivatives`: a dictionary whose _current_level is not negative while forward
  // derivatives are open, or None.
  bool add_exchanging(PyObject* type, PyObject* empty, PyObject* derivatives);
  // Adds a maker whose arrays have the attributes of CuPy's arrays; `stream` is a callable(device) that
  // returns an address.
  bool add_attributed(PyObject* type, PyObject* empty, PyObject* stream);

 private:
  std::vector<std::unique_ptr<Maker>> makers_;
};

}  // namespace tilewright::python
