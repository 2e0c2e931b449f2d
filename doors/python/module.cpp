// tilewright._core: binds the library for the package's Python half. The names are private to the package and
// may change.
#include <nanobind/nanobind.h>
#include <nanobind/stl/complex.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <complex>

#include "arrays.hpp"
#include "core/input/closest.hpp"
#include "entry.hpp"
#include "errors.hpp"
#include "factor.hpp"
#include "interleaved.hpp"
#include "learning.hpp"
#include "library.hpp"
#include "lists.hpp"
#include "lu.hpp"
#include "operand.hpp"
#include "options.hpp"
#include "overlap.hpp"
#include "product.hpp"
#include "stack.hpp"
#include "tilewright/gemm.hpp"
#include "tilewright/tilewright.h"

namespace nb = nanobind;

namespace tilewright::python {
namespace {

// Returns the options of one call, including the location of its operands.
GemmOptions with_place(const GemmOptions* options, const View& c, std::uint64_t stream) {
  GemmOptions own = options != nullptr ? *options : default_options();
  own.queue.device = c.device;
  own.queue.stream = reinterpret_cast<CUstream_st*>(stream);
  return own;
}

// Checks arrays that state their own location; others cannot be wrong.
void check_address(const char* name, const View& x) {
  if (x.data != nullptr) return;
  for (int i = 0; i < x.ndim; ++i)
    if (x.shape[i] == 0) return;
  throw Error(ErrorCode::invalid_argument, name, std::string(name) + " has elements at the address 0");
}

void check_together(const View& a, const View& b, const View& c) {
  if (a.dtype != c.dtype || b.dtype != c.dtype)
    throw Error(ErrorCode::invalid_argument, "dtype", "the element types of a, b and out differ");
  const auto elsewhere = [&](const View& x) { return x.location != c.location || x.device != c.device; };
  if (elsewhere(a) || elsewhere(b))
    throw Error(ErrorCode::invalid_argument, "device", "a, b and out are not in the memory of one device");
  if (a.ndim < 2 || b.ndim < 2 || c.ndim < 2)
    throw Error(ErrorCode::invalid_argument, "shape", "a, b and out need at least two dimensions each");
  if (c.read_only) throw Error(ErrorCode::invalid_argument, "out", "out is read-only");
}

void check_factor(const char* name, std::complex<double> value, DType dtype) {
  if (!is_complex(dtype) && value.imag() != 0)
    throw Error(ErrorCode::invalid_argument, name,
                std::string(name) + " = " + std::to_string(value.real()) + " + " +
                    std::to_string(value.imag()) + "j is complex, but the arrays are real");
}

unsigned product(Library& library, nb::handle a, nb::handle b, nb::handle c, std::complex<double> alpha,
                 std::complex<double> beta, bool conj_a, bool conj_b, const GemmOptions* options,
                 std::uint64_t stream, bool sum) {
  const View x = view_of("a", a), y = view_of("b", b), z = view_of("out", c);
  check_together(x, y, z);
  check_address("a", x), check_address("b", y), check_address("out", z);
  check_factor("alpha", alpha, z.dtype);
  check_factor("beta", beta, z.dtype);
  const Product product(x, y, z, {alpha, beta, conj_a, conj_b, sum});
  if (product.copies() != copy_none) return product.copies();
  const GemmOptions own = with_place(options, z, stream);
  const Unlocked unlocked(product.work() > least_work_unlocked || z.location == Location::device);
  recorded(
      library.recorder(), [&] { return product.problem(); },
      [&] { run_product(product, library.context(), own); });
  return copy_none;
}

PyObject* first_made = nullptr;  // the module's contents, set once they are complete; never freed

// Returns true if the module is imported again, for example after it was removed from sys.modules. Types can
// be registered only once, so the new module gets the first one's contents.
bool restored(nb::module_& module) {
  if (first_made == nullptr) return false;
  for (const auto& [name, value] : nb::borrow<nb::dict>(first_made))
    if (!nb::cast<std::string>(name).starts_with("__")) module.attr(name) = value;
  return true;
}

}  // namespace
}  // namespace tilewright::python

NB_MODULE(_core, module) {
  using namespace tilewright;
  using namespace tilewright::python;
  if (restored(module)) return;
  if (!import_numpy()) throw nb::python_error();
  nb::register_exception_translator(&translate_error);
  // Never destroyed: threads may still use it when the process ends, and a driver may be gone by then.
  static Library& library = *new Library;
  bind_operand(module);
  bind_options(module);
  bind_learning(module, library);
  bind_lists(module, library);
  bind_lu(module, library);
  bind_factor(module, library);
  bind_decompositions(module, library);
  bind_interleaved(module, library);
  bind_stack(module, library);
  bind_overlap(module);
  module.attr("version") = tilewright_version();
  module.attr("COPY_A") = unsigned(copy_a);
  module.attr("COPY_B") = unsigned(copy_b);
  module.attr("COPY_OUT") = unsigned(copy_c);
  module.def(
      "product",
      [](nb::handle a, nb::handle b, nb::handle c, std::complex<double> alpha, std::complex<double> beta,
         bool conj_a, bool conj_b, const GemmOptions* options, std::uint64_t stream,
         bool sum) { return product(library, a, b, c, alpha, beta, conj_a, conj_b, options, stream, sum); },
      nb::arg("a"), nb::arg("b"), nb::arg("out"), nb::arg("alpha") = std::complex<double>(1),
      nb::arg("beta") = std::complex<double>(0), nb::arg("conj_a") = false, nb::arg("conj_b") = false,
      nb::arg("options") = nb::none(), nb::arg("stream") = 0, nb::arg("sum") = false,
      "out = alpha op(a) op(b) + beta out, where op conjugates or not. a (batch..., m, k), b (batch..., k, "
      "n) and\n"
      "out (batch..., m, n) are NumPy arrays or Operands. 0 where it was done; else a sum of COPY_A, COPY_B "
      "and\n"
      "COPY_OUT names what lies as no problem can express it, and nothing was written.");
  module.def(
      "add_exchanging",
      [](nb::handle type, nb::handle empty, nb::handle derivatives) {
        return library.makers().add_exchanging(type.ptr(), empty.ptr(), derivatives.ptr());
      },
      nb::arg("type"), nb::arg("empty"), nb::arg("derivatives").none());
  module.def("set_cuda_sought", [] { library.set_cuda_sought(); });
  module.def("add_attributed", [](nb::handle type, nb::handle empty, nb::handle stream) {
    return library.makers().add_attributed(type.ptr(), empty.ptr(), stream.ptr());
  });
  module.def(
      "make_matmul",
      [](nb::handle general, std::string doc) {
        return nb::steal(make_matmul(library, general.ptr(), std::move(doc)));
      },
      nb::arg("general"), nb::arg("doc"));
  module.def("closest", &closest, nb::arg("word"), nb::arg("words"),
             "The word that was meant, or an empty text.");
  // Threads may keep arrays until the process ends (lock.hpp): users should not see a warning about that.
  nb::set_leak_warnings(false);
  first_made = nb::dict(module.attr("__dict__")).release().ptr();
}
