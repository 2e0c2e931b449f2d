// The one reader and writer of JSON and JSON Lines. A text that is not JSON, is nested deeply, is huge or
// gives a key twice is refused before it can exhaust the stack or the memory.
#pragma once

#include <istream>
#include <string>
#include <string_view>

#include "core/fields.hpp"

namespace tilewright {

inline constexpr std::size_t most_json_depth = 64;
inline constexpr std::size_t most_json_bytes = std::size_t{16} << 20;  // of one text

// Thrown for text that is not JSON and for text beyond the limits.
class NotJson : public Error {
 public:
  using Error::Error;
};

// Parses `text`. Throws NotJson(invalid_argument, argument) that says what is wrong and at which byte.
nlohmann::json parse_json(std::string_view text, const char* argument = "json");
// Returns a discarded value if parse_json would throw, as nlohmann::json::parse(text, nullptr, false) does.
nlohmann::json parse_json_or_discard(std::string_view text);

// Calls visit(value). Calls refuse(why), which throws, if the text is not JSON or a value has the wrong type.
template <class Visit, class Refuse>
void visit_json(std::string_view text, Visit&& visit, Refuse&& refuse) {
  try {
    visit(parse_json(text));
  } catch (const NotJson& error) {
    refuse(json_fault(error));
  } catch (const nlohmann::json::exception& error) {
    refuse(json_fault(error));
  }
}

// Reads the next line without its line feed; false at the end. Of a line longer than a JSON text may be it
// reads just enough for parse_json() to refuse it.
bool next_line(std::istream& stream, std::string& line);

// Returns one line of JSON; bytes that are not UTF-8 become U+FFFD, so that it can be read back.
std::string json_line(const nlohmann::json& json);

// Reads an integer from a value of a file, which may hold anything. Throws Error naming the key; fractions,
// true, and numbers that T does not hold are refused, not converted.
template <class T>
T json_number(const nlohmann::json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end())
    throw Error(ErrorCode::invalid_argument, key, fmt::format("'{}' is missing", key));
  T value{};
  value_from_json(*found, key, value);
  return value;
}

}  // namespace tilewright
