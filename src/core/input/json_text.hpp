// The one reader of JSON texts and of files of such lines, and how JSON is written. What is not a JSON text,
// is nested deeply, is huge or gives a key twice is refused before anything is built of it that a recursion
// or the memory could not bear.
#pragma once

#include <istream>
#include <string>
#include <string_view>

#include "core/fields.hpp"

namespace tilewright {

inline constexpr std::size_t most_json_depth = 64;
inline constexpr std::size_t most_json_bytes = std::size_t{16} << 20;  // of one text

// A text that is not JSON, or more of it than is taken.
class NotJson : public Error {
 public:
  using Error::Error;
};

// Throws NotJson(invalid_argument, argument) that says what is wrong and at which byte.
nlohmann::json parse_json(std::string_view text, const char* argument = "json");
// Discarded where that would throw, as nlohmann::json::parse(text, nullptr, false) returns it.
nlohmann::json parse_json_or_discard(std::string_view text);

// visit(value); refuse(why), which throws, where the text is not JSON or visit asks a value for what it is
// not.
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

// The next line without its line feed; false at the end. Of a line that is longer than a JSON
// text may be, such as that of a device without end, the part that parse_json() refuses as too long.
bool next_line(std::istream& stream, std::string& line);

// On one line, for files: bytes that are not UTF-8 become U+FFFD, so that what is written can be read.
std::string json_line(const nlohmann::json& json);

// The number itself, of a value that a file may say anything in. Throws Error naming the key: a fraction,
// true, or what T does not hold is not taken for another number.
template <class T>
T json_number(const nlohmann::json& object, const char* key);
extern template std::int64_t json_number<std::int64_t>(const nlohmann::json&, const char*);
extern template int json_number<int>(const nlohmann::json&, const char*);
extern template double json_number<double>(const nlohmann::json&, const char*);

}  // namespace tilewright
