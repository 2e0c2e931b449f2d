// The fast path of matmul. It decides by the types and names of arguments alone whether it serves a call, and
// words no error message of its own: it leaves every other call to the general path, which reports errors.
#include "entry.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "arguments.hpp"
#include "arrays.hpp"
#include "errors.hpp"
#include "product.hpp"

namespace tilewright::python {
namespace {

// The data of the function. There is one, and its `self` is null: Python then treats it as a function of its
// module and pickles it as one. A package that is imported again brings a new `general`.
struct Entry {
  Library* library = nullptr;
  PyObject* general = nullptr;
  std::string doc{};
  PyMethodDef method{};
};
Entry entry;

// insert() adds a dimension of one element before the one at `index`; drop() removes a dimension.
void insert(View& x, int index) {
  std::copy_backward(x.shape + index, x.shape + x.ndim, x.shape + x.ndim + 1);
  std::copy_backward(x.strides + index, x.strides + x.ndim, x.strides + x.ndim + 1);
  x.shape[index] = 1, x.strides[index] = 0;
  ++x.ndim;
}
void drop(View& x, int index) {
  std::copy(x.shape + index + 1, x.shape + x.ndim, x.shape + index);
  --x.ndim;
}

void transpose(View& x) {
  if (x.ndim < 2) return;
  std::swap(x.shape[x.ndim - 1], x.shape[x.ndim - 2]);
  std::swap(x.strides[x.ndim - 1], x.strides[x.ndim - 2]);
}

// Broadcasts the batches of a and b to each other, in front of rows and columns; returns false if they do not
// fit.
bool result_shape(const View& a, const View& b, View& c) {
  if (a.shape[a.ndim - 1] != b.shape[b.ndim - 2]) return false;
  c.ndim = std::max(a.ndim, b.ndim);
  for (int i = 0; i < c.ndim - 2; ++i) {
    const int ia = i - (c.ndim - a.ndim), ib = i - (c.ndim - b.ndim);
    const std::int64_t na = ia < 0 ? 1 : a.shape[ia], nb = ib < 0 ? 1 : b.shape[ib];
    if (na != nb && na != 1 && nb != 1) return false;
    c.shape[i] = na == 1 ? nb : na;
  }
  c.shape[c.ndim - 2] = a.shape[a.ndim - 2];
  c.shape[c.ndim - 1] = b.shape[b.ndim - 1];
  return true;
}

bool same_shape(const View& x, const View& y) {
  return x.ndim == y.ndim && std::equal(x.shape, x.shape + x.ndim, y.shape);
}

// The operands of a call: a vector gets a second dimension that the result lacks.
struct Operands {
  View a, b, c;
  bool row = false, column = false;
  View shape;  // shape of the result

  // Called after a and b were read.
  bool fit() {
    if (a.dtype != b.dtype || a.location != b.location || a.device != b.device) return false;
    if (a.ndim == 0 || b.ndim == 0 || a.ndim == View::most_dims || b.ndim == View::most_dims) return false;
    row = a.ndim == 1, column = b.ndim == 1;
    if (row) insert(a, 0);
    if (column) insert(b, 1);
    if (!result_shape(a, b, shape)) return false;
    if (column) drop(shape, shape.ndim - 1);
    if (row) drop(shape, shape.ndim - (column ? 1 : 2));
    return true;
  }
  // Called after c was read.
  bool fits_result() {
    if (c.dtype != a.dtype || c.location != a.location || c.device != a.device) return false;
    if (c.read_only || !same_shape(c, shape)) return false;
    if (row) insert(c, c.ndim - (column ? 0 : 1));
    if (column) insert(c, c.ndim);
    return true;
  }
};

// Reads NumPy's arrays, or those of a maker.
class Reader {
 public:
  Reader(const Makers& makers, PyObject* first) : type_(Py_TYPE(first)) {
    numpy_ = is_array(first);
    if (!numpy_) maker_ = makers.find(type_);
  }
  bool known() const { return numpy_ || maker_ != nullptr; }
  bool read(PyObject* array, View& to) const {
    return Py_TYPE(array) == type_ && (numpy_ ? read_array(array, to) : maker_->read(array, to));
  }
  PyObject* make(PyObject* like, const View& shape, DType dtype) const {
    return numpy_ ? new_array(dtype, shape.ndim, shape.shape) : maker_->make(like, shape);
  }
  // Sets the stream that was given, which host arrays cannot have, or the maker's current one.
  bool stream(const View& view, const Arguments& arguments, void*& to) const {
    if (arguments.stream_given) return view.location == Location::device;
    return numpy_ || maker_->stream(view, to);
  }

 private:
  PyTypeObject* type_;
  bool numpy_ = false;
  const Maker* maker_ = nullptr;
};

bool fits_type(const Factors& factors, DType dtype) {
  return is_complex(dtype) || (factors.alpha.imag() == 0 && factors.beta.imag() == 0);
}

// Allocators ask the system for every array of at least this size. The system zeroes a page in the cache at
// its first write, and stores that bypass the cache would evict the page.
constexpr double fresh_bytes = 1 << 25;

double bytes_of(const View& x) {
  double bytes = size_bytes(x.dtype);
  for (int i = 0; i < x.ndim; ++i) bytes *= double(x.shape[i]);
  return bytes;
}

// Returns true if the product was computed; false if the call needs the general path. `made`: the result is a
// new array.
bool run(Library& library, const Operands& x, const Arguments& arguments, void* stream, bool made) {
  if (!fits_type(arguments.factors, x.c.dtype)) return false;
  const Product product(x.a, x.b, x.c, arguments.factors);
  if (product.copies() != copy_none) return false;
  const bool device = x.c.location == Location::device;
  if (device && !library.cuda_sought()) return false;
  const Unlocked unlocked(device || product.work() > least_work_unlocked);
  recorded(
      library.recorder(), [&] { return product.problem(); },
      [&] {
        const bool fresh = made && !device && bytes_of(x.c) >= fresh_bytes;
        if (!device && !fresh && arguments.threads == 0)
          return run_product(product, library.context(), default_options());
        GemmOptions options;
        if (fresh) options.residency = Residency::l2;
        options.queue.device = x.c.device, options.queue.stream = static_cast<CUstream_st*>(stream),
        options.threads = arguments.threads;
        run_product(product, library.context(), options);
      });
  return true;
}

// Returns the result, or null if the call needs the general path (no error set) or failed (error set).
PyObject* multiply(Library& library, const Arguments& arguments) {
  const Reader reader(library.makers(), arguments.a);
  Operands x;
  if (!reader.known() || !reader.read(arguments.a, x.a) || !reader.read(arguments.b, x.b)) return nullptr;
  if (arguments.transpose_a) transpose(x.a);
  if (arguments.transpose_b) transpose(x.b);
  if (!x.fit()) return nullptr;
  PyObject *made = nullptr, *out = arguments.out;
  if (out == nullptr) {
    if (arguments.stream_given) return nullptr;  // a result for a stream other than the maker's current one
    made = out = reader.make(arguments.a, x.shape, x.a.dtype);
    if (made == nullptr) return nullptr;
  }
  PyObject* result = nullptr;
  void* stream = arguments.stream;
  try {
    if (reader.read(out, x.c) && x.fits_result() && reader.stream(x.c, arguments, stream) &&
        run(library, x, arguments, stream, made != nullptr)) {
      Py_INCREF(out);
      result = out;
    }
  } catch (...) {
    set_python_error();
  }
  Py_XDECREF(made);
  return result;
}

PyObject* call(PyObject*, PyObject* const* args, Py_ssize_t count, PyObject* names) {
  Arguments arguments;
  if (arguments.parse(args, count, names)) {
    PyObject* result = multiply(*entry.library, arguments);
    if (result != nullptr || PyErr_Occurred() != nullptr) return result;
  }
  return PyObject_Vectorcall(entry.general, args, std::size_t(count), names);
}

}  // namespace

PyObject* make_matmul(Library& library, PyObject* general, std::string doc) {
  entry.library = &library;
  Py_INCREF(general);
  Py_XDECREF(std::exchange(entry.general, general));
  if (entry.doc.empty()) entry.doc = std::move(doc);  // earlier functions hold the address of the docstring
  entry.method = {"matmul", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(&call)),
                  METH_FASTCALL | METH_KEYWORDS, entry.doc.c_str()};
  PyObject* module = PyUnicode_FromString("tilewright");
  PyObject* function = module == nullptr ? nullptr : PyCFunction_NewEx(&entry.method, nullptr, module);
  Py_XDECREF(module);
  return function;
}

}  // namespace tilewright::python
