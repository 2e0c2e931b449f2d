// Makes text from outside fit to be printed and to stand in JSON.
#pragma once

#include <string>
#include <string_view>

namespace tilewright {

// printable() returns valid UTF-8 of at most `most_bytes`: control characters, marks that reverse the
// direction of writing and bytes that are not UTF-8 become \x1b or \u202e. Line feeds and tabs stay.
inline constexpr std::size_t most_printable_bytes = 4000;
std::string printable(std::string_view text, std::size_t most_bytes = most_printable_bytes);

// True if all of the text is UTF-8, as RFC 3629 allows it.
bool is_utf8(std::string_view text);

}  // namespace tilewright
