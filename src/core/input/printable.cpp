// Decodes UTF-8 character by character.
#include "core/input/printable.hpp"

#include <fmt/format.h>

namespace tilewright {
namespace {

struct Character {
  std::uint32_t code = 0;
  std::size_t bytes = 0;  // 0: not UTF-8
};

// Decodes the first character of `text`, as RFC 3629 allows it: in its shortest form, no surrogates.
Character first_of(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  const std::size_t bytes = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  constexpr std::uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
  if (lead < 0xc2 || lead > 0xf4 || text.size() < bytes) return {};
  std::uint32_t code = lead & (0xffu >> (bytes + 1));
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return {};
    code = code << 6 | (byte(i) & 0x3fu);
  }
  const bool surrogate = code >= 0xd800 && code < 0xe000;
  return code < least[bytes] || code > 0x10ffff || surrogate ? Character() : Character{code, bytes};
}

bool is_hidden(std::uint32_t code) {
  const bool control = (code < 0x20 && code != '\n' && code != '\t') || (code >= 0x7f && code < 0xa0);
  const bool separator = code == 0x2028 || code == 0x2029 || code == 0xfeff;
  const bool direction = (code >= 0x200e && code <= 0x200f) || (code >= 0x202a && code <= 0x202e) ||
                         (code >= 0x2066 && code <= 0x2069);
  return control || separator || direction;
}

}  // namespace

std::string printable(std::string_view text, std::size_t most_bytes) {
  std::string shown;
  while (!text.empty()) {
    if (shown.size() > most_bytes) {
      shown += fmt::format("... ({} more bytes)", text.size());
      break;
    }
    const Character c = first_of(text);
    if (c.bytes == 0 || (c.bytes == 1 && is_hidden(c.code)))
      shown += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[0]));
    else if (is_hidden(c.code))
      shown += fmt::format("\\u{:04x}", c.code);
    else
      shown += text.substr(0, c.bytes);
    text.remove_prefix(c.bytes == 0 ? 1 : c.bytes);
  }
  return shown;
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t bytes = first_of(text).bytes;
    if (bytes == 0) return false;
    text.remove_prefix(bytes);
  }
  return true;
}

}  // namespace tilewright
