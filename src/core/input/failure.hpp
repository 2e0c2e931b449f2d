// The one translation of what other libraries and the system throw and say into words of this project, for
// the places where exceptions end: the C interface, the tool and Python.
#pragma once

#include <exception>
#include <string>

#include "tilewright/types.hpp"

namespace tilewright {

struct Failure {
  ErrorCode code = ErrorCode::internal;
  std::string message;  // printable
};

// Of the exception that is being handled: call it in a catch block. An Error keeps its words; of others it is
// said what failed. Exceptions without an object, such as those that end a thread, pass through.
Failure current_failure();

// An error number of the system in English, whatever the locale and its encoding.
std::string system_error_text(int error_number);

// Why the loader found no library or symbol, likewise; "" where nothing failed.
std::string loader_error();

}  // namespace tilewright
