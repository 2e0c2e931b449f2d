// Refusals in words: errors whose sentence, formatted from its parts, names the argument and its value.
#pragma once

#include <fmt/format.h>

#include "tilewright/types.hpp"

namespace tilewright {

template <class... Parts>
[[noreturn]] void wrong_use(const std::string& argument, fmt::format_string<Parts...> form,
                            Parts&&... parts) {
  throw Error(ErrorCode::invalid_argument, argument, fmt::format(form, std::forward<Parts>(parts)...));
}

// "--sizes = 'x' is not a number": `reason` goes on from there.
[[noreturn]] inline void refuse_value(const std::string& flag, const std::string& value,
                                      const std::string& reason) {
  wrong_use(flag, "{} = '{}' {}", flag, value, reason);
}

// Refuses a part that is not built, or that does not apply here.
template <class... Parts>
[[noreturn]] void not_supported(const std::string& argument, fmt::format_string<Parts...> form,
                                Parts&&... parts) {
  throw Error(ErrorCode::unsupported, argument, fmt::format(form, std::forward<Parts>(parts)...));
}

// A file that cannot be read or written.
template <class... Parts>
[[noreturn]] void io_fault(const std::string& argument, fmt::format_string<Parts...> form, Parts&&... parts) {
  throw Error(ErrorCode::io, argument, fmt::format(form, std::forward<Parts>(parts)...));
}

}  // namespace tilewright
