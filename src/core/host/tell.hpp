// Writes the library's unsolicited messages to stderr: each line is written whole, whatever bytes it holds
// and whatever stderr is. The callers decide whether to write.
#pragma once

#include <string_view>

namespace tilewright {

// Writes `text`, made printable (core/input/printable.hpp), to file descriptor 2, past stdio and its locks. A
// closed pipe sends no SIGPIPE; errno is preserved.
void tell(std::string_view text) noexcept;

}  // namespace tilewright
