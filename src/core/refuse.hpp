// Refusing an argument: the one error that most checks end with.
#pragma once

#include <cstdint>
#include <string>

#include "tilewright/types.hpp"

namespace tilewright {

// `message` names the argument and its value; `problem` is the number of the batch's problem at fault.
[[noreturn]] inline void refuse_argument(const std::string& argument, const std::string& message,
                                         std::int64_t problem = -1) {
  throw Error(ErrorCode::invalid_argument, argument, message, problem);
}

}  // namespace tilewright
