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

// Refuses what no enumerator stands for, as it comes from a cast; `last` is the last of them.
template <class Enum>
void refuse_unnamed(const char* argument, Enum value, Enum last) {
  if (value > last)
    refuse_argument(argument,
                    std::string(argument) + " = " + std::to_string(int(value)) + " is none of its values");
}

}  // namespace tilewright
