// Translates exceptions and errors of the system and of other libraries into errors of this project, where
// exceptions end: in the C interface, the tool and Python.
#pragma once

#include <exception>
#include <string>

#include "tilewright/types.hpp"

namespace tilewright {

struct Failure {
  ErrorCode code = ErrorCode::internal;
  std::string message;  // printable
};

// Describes the exception that is being handled; an Error keeps its message. Exceptions without an object,
// such as those that end a thread, pass through.
Failure current_failure();

// Returns the system's text for an error number in English, whatever the locale and its encoding.
std::string system_error_text(int error_number);

// Returns the loader's last error in English; "" if there is none.
std::string loader_error();

}  // namespace tilewright
