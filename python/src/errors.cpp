// One class of Python's own for each code: programs that catch ValueError need not know of this package.
#include "errors.hpp"

#include <new>
#include <string>

#include "tilewright/types.hpp"

namespace tilewright::python {
namespace {

PyObject* class_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::invalid_argument:
      return PyExc_ValueError;
    case ErrorCode::out_of_memory:
      return PyExc_MemoryError;
    case ErrorCode::io:
      return PyExc_OSError;
    case ErrorCode::unsupported:
      return PyExc_NotImplementedError;
    default:
      return PyExc_RuntimeError;
  }
}

// What the package calls arguments of the library.
struct Renamed {
  const char *library, *package;
};
constexpr Renamed renamed[] = {{"objective_weight", "objective"},
                               {"tune_on_miss.budget_s", "tune_budget_s"},
                               {"sweep", "log"},
                               {"to.stride", "the stride of out"},
                               {"stride_c", "the stride of out"}};

std::string sentence(const Error& error) {
  std::string text = error.what();
  for (const Renamed& one : renamed)
    if (const std::string begin = std::string(one.library) + " = "; text.rfind(begin, 0) == 0)
      return one.package + text.substr(begin.size() - 3);
  return text;
}

}  // namespace

void set_python_error() {
  try {
    throw;
  } catch (const Error& error) {
    PyErr_SetString(class_of(error.code()), sentence(error).c_str());
  } catch (const std::bad_alloc&) {
    PyErr_NoMemory();
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
  }
}

void translate_error(const std::exception_ptr& error, void*) {
  try {
    std::rethrow_exception(error);
  } catch (const Error&) {
    set_python_error();
  }
}

}  // namespace tilewright::python
