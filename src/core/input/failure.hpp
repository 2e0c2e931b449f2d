// The one translation of exceptions and errors of other libraries and of the system into errors of this
// project, for the places where exceptions end: the C interface, the tool and Python.
#pragma once

#include <exception>
#include <string>

#include "tilewright/types.hpp"

namespace tilewright {

struct Failure {
  ErrorCode code = ErrorCode::internal;
  std::string message;  // printable
};

// Describes the exception that is being handled: call it in a catch block. An Error keeps its message; for
// others the message says what failed. Exceptions without an object, such as those that end a thread, pass
// through.
Failure current_failure();

// Returns the system's text for an error number in English, whatever the locale and its encoding.
std::string system_error_text(int error_number);

// Returns the loader's last error in English; "" if there is none.
std::string loader_error();

}  // namespace tilewright
