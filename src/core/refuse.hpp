// Throws the error that most argument checks end with.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "tilewright/types.hpp"

namespace tilewright {

// `message` names the argument and its value; `problem` is the index of the offending problem of the batch.
[[noreturn]] inline void refuse_argument(const std::string& argument, const std::string& message,
                                         std::int64_t problem = -1) {
  throw Error(ErrorCode::invalid_argument, argument, message, problem);
}

// Returns the reason why a size or count is invalid if it is negative, else nothing.
inline std::optional<std::string> negative_reason(const char* argument, std::int64_t value) {
  if (value >= 0) return {};
  return std::string(argument) + " = " + std::to_string(value) + " is negative";
}
inline void refuse_negative(const char* argument, std::int64_t value) {
  if (auto reason = negative_reason(argument, value)) refuse_argument(argument, *reason);
}

// The same for a value that is not an enumerator, as a cast may make it; `last` is the last valid one.
template <class Enum>
std::optional<std::string> unnamed_reason(const char* argument, Enum value, Enum last) {
  if (value <= last) return {};
  return std::string(argument) + " = " + std::to_string(int(value)) + " is none of its values";
}
template <class Enum>
void refuse_unnamed(const char* argument, Enum value, Enum last) {
  if (auto reason = unnamed_reason(argument, value, last)) refuse_argument(argument, *reason);
}

}  // namespace tilewright
