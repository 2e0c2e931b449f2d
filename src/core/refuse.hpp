// The sentences of faults that many arguments can have, and the error that most argument checks end with.
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

// Throws if the value is below `least` or, with a `most`, above it.
inline void refuse_outside(const std::string& argument, std::int64_t value, std::int64_t least,
                           std::optional<std::int64_t> most = {}) {
  if (least == 0) refuse_negative(argument.c_str(), value);
  const char* const bound = value < least ? "least " : "most ";
  if (value < least || (most && value > *most))
    refuse_argument(argument, argument + " = " + std::to_string(value) + " must be at " + bound +
                                  std::to_string(value < least ? least : *most));
}

// Returns why a leading dimension is too small for matrix `of`, whose rows (columns if it is row-major) are
// adjacent elements.
inline std::string short_ld_text(const std::string& argument, std::int64_t ld, std::int64_t rows,
                                 const std::string& of, bool by_rows = false) {
  const std::string text = argument + " = " + std::to_string(ld);
  if (rows < 1) return text + " must be at least 1";
  return text + " is smaller than the " + std::to_string(rows) + (by_rows ? " column" : " row") +
         (rows == 1 ? "" : "s") + " of " + of + (by_rows ? " (row-major)" : "");
}

// Every enum that an argument can have names its values (core/fields.hpp).
template <class E>
struct EnumNames;

// "target = 7 is not one of auto (0), cpu (1), gpu (2), hybrid (3)".
template <class Enum>
std::string unnamed_text(const std::string& argument, int value) {
  std::string text = argument + " = " + std::to_string(value) + " is not one of ";
  const char* separator = "";
  for (const auto& [one, name] : EnumNames<Enum>::value) {
    text += separator + std::string(name) + " (" + std::to_string(int(one)) + ")";
    separator = ", ";
  }
  return text;
}

// The same for a value that is not an enumerator, as a cast may make it; `last` is the last valid one.
template <class Enum>
std::optional<std::string> unnamed_reason(const char* argument, Enum value, Enum last) {
  if (value <= last) return {};
  return unnamed_text<Enum>(argument, int(value));
}
template <class Enum>
void refuse_unnamed(const char* argument, Enum value, Enum last) {
  if (auto reason = unnamed_reason(argument, value, last)) refuse_argument(argument, *reason);
}

}  // namespace tilewright
