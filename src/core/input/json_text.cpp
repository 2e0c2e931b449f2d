// Builds values from the events of the parser, so that the depth is known before a value exists.
#include "core/input/json_text.hpp"

#include <fmt/format.h>

#include <ios>
#include <utility>
#include <vector>

namespace tilewright {
namespace {

using Json = nlohmann::json;

class Builder : public nlohmann::json_sax<Json> {
 public:
  bool null() override { return put(nullptr); }
  bool boolean(bool value) override { return put(value); }
  bool number_integer(number_integer_t value) override { return put(value); }
  bool number_unsigned(number_unsigned_t value) override { return put(value); }
  bool number_float(number_float_t value, const string_t&) override { return put(value); }
  bool string(string_t& value) override { return put(std::move(value)); }
  bool binary(binary_t&) override { return false; }
  bool start_object(std::size_t) override { return open(Json::object()); }
  bool start_array(std::size_t) override { return open(Json::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }

  bool key(string_t& name) override {
    const auto [place, is_new] = open_.back()->get_ref<Json::object_t&>().emplace(name, nullptr);
    if (!is_new) fault_ = fmt::format("the key '{}' is given twice", name);
    place_ = &place->second;
    return is_new;
  }

  bool parse_error(std::size_t byte, const std::string&, const Json::exception& error) override {
    fault_ = dynamic_cast<const Json::out_of_range*>(&error) != nullptr
                 ? fmt::format("the number that ends at byte {} is out of the range of a double", byte)
                 : fmt::format("invalid JSON at byte {}", byte);
    return false;
  }

  Json& result() { return result_; }
  const std::string& fault() const { return fault_; }

 private:
  template <class Value>
  Json* place(Value&& value) {
    if (open_.empty()) return &(result_ = std::forward<Value>(value));
    if (open_.back()->is_object()) return &(*place_ = std::forward<Value>(value));
    open_.back()->push_back(std::forward<Value>(value));
    return &open_.back()->back();
  }
  template <class Value>
  bool put(Value&& value) {
    place(std::forward<Value>(value));
    return true;
  }
  bool open(Json&& empty) {
    if (open_.size() == most_json_depth) {
      fault_ = fmt::format("arrays and objects are nested more than {} deep", most_json_depth);
      return false;
    }
    open_.push_back(place(std::move(empty)));
    return true;
  }
  bool close() {
    open_.pop_back();
    return true;
  }

  Json result_;
  std::vector<Json*> open_;  // the arrays and objects around the next value; each holds the one behind it
  Json* place_ = nullptr;    // where the value of the last key goes
  std::string fault_;
};

// Reads `text` into `value`. Returns "" or what is wrong with the text.
std::string read(std::string_view text, Json& value) {
  if (text.size() > most_json_bytes)
    return fmt::format("its {} bytes exceed the limit of {} per line", text.size(), most_json_bytes);
  Builder builder;
  if (!Json::sax_parse(text.begin(), text.end(), &builder)) return builder.fault();
  value = std::move(builder.result());
  return "";
}

}  // namespace

Json parse_json(std::string_view text, const char* argument) {
  Json value;
  if (const std::string fault = read(text, value); !fault.empty())
    throw NotJson(ErrorCode::invalid_argument, argument, fault);
  return value;
}

Json parse_json_or_discard(std::string_view text) {
  Json value;
  return read(text, value).empty() ? value : Json(Json::value_t::discarded);
}

bool next_line(std::istream& stream, std::string& line) {
  line.clear();
  if (!stream) return false;
  using Traits = std::istream::traits_type;
  std::streambuf& buffer = *stream.rdbuf();
  int c = 0;
  try {
    while ((c = buffer.sbumpc()) != Traits::eof() && c != '\n') {
      line += Traits::to_char_type(c);
      if (line.size() <= most_json_bytes) continue;
      stream.setstate(std::ios::failbit);  // the line may never end: nothing more is read
      return true;
    }
  } catch (const std::ios_base::failure&) {  // a folder, or a medium that fails
    stream.setstate(std::ios::badbit);
    return false;
  }
  if (c != Traits::eof()) return true;
  stream.setstate(line.empty() ? std::ios::eofbit | std::ios::failbit : std::ios::eofbit);
  return !line.empty();
}

std::string json_line(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

}  // namespace tilewright
