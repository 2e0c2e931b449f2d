// Errors during reading are cleared: the general path meets them again and reports them.
#include "makers.hpp"

#include <cstring>

#include "arrays.hpp"

namespace tilewright::python {
namespace {

bool dtype_of(const dlpack::DataType& type, DType& to) {
  if (type.lanes != 1) return false;
  if (type.code == dlpack::real_code && type.bits == 32) return to = DType::f32, true;
  if (type.code == dlpack::real_code && type.bits == 64) return to = DType::f64, true;
  if (type.code == dlpack::complex_code && type.bits == 64) return to = DType::c64, true;
  if (type.code == dlpack::complex_code && type.bits == 128) return to = DType::c128, true;
  return false;
}

bool describe(const dlpack::Tensor& x, View& to) {
  const bool host = x.device.type == dlpack::cpu, device = x.device.type == dlpack::cuda;
  if (!(host || device) || x.ndim > View::most_dims || !dtype_of(x.dtype, to.dtype)) return false;
  if (x.data == nullptr) return false;  // no elements, or none with an address
  to.data = static_cast<char*>(x.data) + x.byte_offset;
  to.location = host ? Location::host : Location::device;
  to.device = device ? x.device.id : 0;
  to.ndim = x.ndim;
  std::int64_t step = 1;
  for (int i = x.ndim - 1; i >= 0; --i) {
    to.shape[i] = x.shape[i];
    to.strides[i] = x.strides != nullptr ? x.strides[i] : step;
    step *= x.shape[i];
  }
  return true;
}

// Reads arrays by the exchange table. PyTorch keeps more than the elements (gradients, lazy negation and
// conjugation), which is checked if the type has it; while forward derivatives are open, every tensor may
// have one.
class Exchanging : public Maker {
 public:
  Exchanging(const dlpack::Exchange& table, PyObject* of, PyObject* derivatives)
      : table_(table),
        grad_(name(of, "requires_grad")),
        negated_(name(of, "is_neg")),
        derivatives_(PyDict_Check(derivatives) != 0 ? derivatives : nullptr) {
    Py_XINCREF(derivatives_);
  }

  bool read(PyObject* array, View& to) const override {
    if (!plain(array)) return false;
    dlpack::Tensor told{};
    if (table_.view(array, &told) != 0) {
      PyErr_Clear();
      return false;
    }
    return describe(told, to) && (negated_ == nullptr || !is_complex(to.dtype));
  }
  bool stream(const View& view, void*& to) const override {
    to = nullptr;
    if (view.location == Location::host) return true;
    if (table_.stream(dlpack::cuda, view.device, &to) == 0) return true;
    PyErr_Clear();
    return false;
  }

 private:
  static PyObject* name(PyObject* type, const char* attribute) {
    return PyObject_HasAttrString(type, attribute) != 0 ? PyUnicode_InternFromString(attribute) : nullptr;
  }
  static bool is_false(PyObject* value) {
    const bool is = value == Py_False;
    if (value == nullptr) PyErr_Clear();
    Py_XDECREF(value);
    return is;
  }
  bool has_derivatives() const {
    PyObject* const level =
        derivatives_ == nullptr ? nullptr : PyDict_GetItemWithError(derivatives_, level_name_);
    const bool open = level != nullptr && PyLong_Check(level) != 0 && PyLong_AsLong(level) >= 0;
    PyErr_Clear();
    return open;
  }
  bool plain(PyObject* array) const {
    if (has_derivatives()) return false;
    if (grad_ != nullptr && !is_false(PyObject_GetAttr(array, grad_))) return false;
    return negated_ == nullptr || is_false(PyObject_CallMethodObjArgs(array, negated_, nullptr));
  }

  const dlpack::Exchange& table_;
  PyObject *grad_, *negated_, *derivatives_;
  PyObject* level_name_ = PyUnicode_InternFromString("_current_level");
};

class Reference {
 public:
  explicit Reference(PyObject* object) : object_(object) {}
  ~Reference() { Py_XDECREF(object_); }
  Reference& operator=(Reference&&) = delete;
  PyObject* get() const { return object_; }

 private:
  PyObject* object_;
};

bool read_number(PyObject* object, std::int64_t& to) {
  if (object == nullptr) return false;
  to = PyLong_AsLongLong(object);
  return to != -1 || PyErr_Occurred() == nullptr;
}

// Reads arrays by the attributes shape, strides (bytes), dtype, data.ptr and data.device_id.
class Attributed : public Maker {
 public:
  explicit Attributed(PyObject* stream) : stream_(stream) {}

  bool read(PyObject* array, View& to) const override {
    if (read_all(array, to)) return true;
    PyErr_Clear();
    return false;
  }
  bool stream(const View& view, void*& to) const override {
    const Reference device(PyLong_FromLong(view.device));
    const Reference told(PyObject_CallFunctionObjArgs(stream_, device.get(), nullptr));
    std::int64_t address = 0;
    if (!read_number(told.get(), address)) {
      PyErr_Clear();
      return false;
    }
    to = reinterpret_cast<void*>(address);
    return true;
  }

 private:
  static bool read_list(PyObject* tuple, std::int64_t* to, int& count) {
    if (tuple == nullptr || PyTuple_Check(tuple) == 0) return false;
    count = int(PyTuple_Size(tuple));
    if (count > View::most_dims) return false;
    for (int i = 0; i < count; ++i)
      if (!read_number(PyTuple_GetItem(tuple, i), to[i])) return false;
    return true;
  }
  bool read_all(PyObject* array, View& to) const {
    const Reference dtype(PyObject_GetAttr(array, dtype_name_)), memory(PyObject_GetAttr(array, data_name_));
    if (dtype.get() == nullptr || memory.get() == nullptr || !read_dtype(dtype.get(), to.dtype)) return false;
    const Reference address(PyObject_GetAttr(memory.get(), ptr_name_)),
        id(PyObject_GetAttr(memory.get(), device_name_));
    const Reference shape(PyObject_GetAttr(array, shape_name_)),
        strides(PyObject_GetAttr(array, strides_name_));
    std::int64_t at = 0, device = 0;
    int dims = 0;
    if (!read_number(address.get(), at) || !read_number(id.get(), device) ||
        !read_list(shape.get(), to.shape, to.ndim) || !read_list(strides.get(), to.strides, dims) ||
        dims != to.ndim)
      return false;
    to.data = reinterpret_cast<char*>(at);
    to.location = Location::device;
    to.device = int(device);
    for (int i = 0; i < dims; ++i) {
      if (to.strides[i] % size_bytes(to.dtype) != 0) return false;
      to.strides[i] /= size_bytes(to.dtype);
    }
    return true;
  }

  PyObject* stream_;
  PyObject *dtype_name_ = PyUnicode_InternFromString("dtype"),
           *data_name_ = PyUnicode_InternFromString("data");
  PyObject *ptr_name_ = PyUnicode_InternFromString("ptr"),
           *device_name_ = PyUnicode_InternFromString("device_id");
  PyObject *shape_name_ = PyUnicode_InternFromString("shape"),
           *strides_name_ = PyUnicode_InternFromString("strides");
};

}  // namespace

PyObject* Maker::make(PyObject* like, const View& shape) const {
  const Reference sizes(PyTuple_New(shape.ndim));
  if (sizes.get() == nullptr) return nullptr;
  for (int i = 0; i < shape.ndim; ++i) PyTuple_SetItem(sizes.get(), i, PyLong_FromLongLong(shape.shape[i]));
  return PyObject_CallFunctionObjArgs(empty, like, sizes.get(), nullptr);
}

const Maker* Makers::find(PyTypeObject* type) const {
  for (const auto& maker : makers_)
    if (maker->type == type) return maker.get();
  return nullptr;
}

bool Makers::add_exchanging(PyObject* type, PyObject* empty, PyObject* derivatives) {
  const Reference capsule(PyObject_GetAttrString(type, "__dlpack_c_exchange_api__"));
  const auto* table = static_cast<const dlpack::Exchange*>(
      capsule.get() == nullptr ? nullptr : PyCapsule_GetPointer(capsule.get(), dlpack::capsule_name));
  PyErr_Clear();
  while (table != nullptr && table->version.major > 1) table = table->older;
  if (table == nullptr || table->view == nullptr || table->stream == nullptr) return false;
  auto maker = std::make_unique<Exchanging>(*table, type, derivatives);
  maker->type = reinterpret_cast<PyTypeObject*>(type), maker->empty = empty;
  Py_INCREF(type), Py_INCREF(empty);
  makers_.push_back(std::move(maker));
  return true;
}

bool Makers::add_attributed(PyObject* type, PyObject* empty, PyObject* stream) {
  auto maker = std::make_unique<Attributed>(stream);
  maker->type = reinterpret_cast<PyTypeObject*>(type), maker->empty = empty;
  Py_INCREF(type), Py_INCREF(empty), Py_INCREF(stream);
  makers_.push_back(std::move(maker));
  return true;
}

}  // namespace tilewright::python
