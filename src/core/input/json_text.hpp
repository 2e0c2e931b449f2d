// The one reader of JSON texts and of JSON Lines files, and the one writer of JSON. A text that is not JSON,
// is nested deeply, is huge or gives a key twice is refused before anything is built from it that could
// exhaust the stack or the memory.
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

// Calls visit(value). Calls refuse(why), which throws, if the text is not JSON or visit finds a value of the
// wrong type.
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

// Reads the next line without its line feed; false at the end. If a line is longer than a JSON text may be,
// such as that of a device without end, it reads just enough for parse_json() to refuse it as too long.
bool next_line(std::istream& stream, std::string& line);

// Returns one line of JSON for files: bytes that are not UTF-8 become U+FFFD, so that the result can be read
// back.
std::string json_line(const nlohmann::json& json);

// Reads an integer from a value of a file, which may hold anything. Throws Error naming the key; fractions,
// true, and numbers that T does not hold are refused, not converted.
template <class T>
T json_number(const nlohmann::json& object, const char* key);
extern template std::int64_t json_number<std::int64_t>(const nlohmann::json&, const char*);
extern template int json_number<int>(const nlohmann::json&, const char*);
extern template double json_number<double>(const nlohmann::json&, const char*);

}  // namespace tilewright
