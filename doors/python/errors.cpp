// Uses a class of Python's own for each code: programs that catch ValueError need not know this package.
#include "errors.hpp"

#include <new>
#include <string>
#include <system_error>

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

// The package's names of the library's arguments.
struct Renamed {
  const char *library, *package;
};
constexpr Renamed renamed[] = {
    {"objective_weight", "objective"}, {"to.stride", "the stride of out"}, {"stride_c", "the stride of out"}};

std::string sentence(const Error& error) {
  std::string text = error.what();
  for (const Renamed& one : renamed)
    if (const std::string begin = std::string(one.library) + " = "; text.rfind(begin, 0) == 0)
      return one.package + text.substr(begin.size() - 3);
  return text;
}

// Names and lines of files may hold anything: control characters and bytes that are not UTF-8 are printed as
// \x1b.
void set_error(PyObject* type, const std::string& message) {
  constexpr std::size_t most_bytes = 4000;  // the caller's argument may be megabytes of text
  std::string shown;
  for (const char c : message.substr(0, most_bytes)) {
    const auto byte = static_cast<unsigned char>(c);
    constexpr const char* digits = "0123456789abcdef";
    if ((byte < 0x20 && c != '\n' && c != '\t') || byte == 0x7f)
      shown += {'\\', 'x', digits[byte / 16], digits[byte % 16]};
    else
      shown += c;
  }
  if (message.size() > most_bytes) shown += "...";
  PyObject* text = PyUnicode_DecodeUTF8(shown.data(), Py_ssize_t(shown.size()), "backslashreplace");
  if (text == nullptr) return;  // no memory; Python's error is set
  PyErr_SetObject(type, text);
  Py_DECREF(text);
}

}  // namespace

void set_python_error() {
  try {
    throw;
  } catch (const Error& error) {
    set_error(class_of(error.code()), sentence(error));
  } catch (const std::bad_alloc&) {
    PyErr_NoMemory();
  } catch (const std::system_error& error) {
    set_error(PyExc_OSError, "system error: " + error.code().message());
  } catch (const std::exception& error) {
    set_error(PyExc_RuntimeError, std::string("internal error: ") + error.what());
  }
}

void translate_error(const std::exception_ptr& error, void*) {
  try {
    std::rethrow_exception(error);
  } catch (const Error&) {
    set_python_error();
  } catch (const std::system_error&) {
    set_python_error();
  }
}

}  // namespace tilewright::python
