// What the library says without being asked: lines on stderr, written whole, whatever they hold and whatever
// stderr is. Who says it decides whether.
#pragma once

#include <string_view>

namespace tilewright {

// Writes it, as printable() shows it (core/input/printable.hpp), to file descriptor 2, past stdio and its
// locks. A closed pipe sends no SIGPIPE; errno stays.
void tell(std::string_view text) noexcept;

}  // namespace tilewright
