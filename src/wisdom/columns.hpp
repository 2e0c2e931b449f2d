// JSON lines and database rows of structs: one field list per struct gives the keys of the line, the columns
// of the table, and both conversions. A member `extra` holds the keys of a line that are no field.
#pragma once

#include <fmt/ranges.h>

#include <algorithm>
#include <initializer_list>
#include <limits>
#include <optional>
#include <string>

#include "core/fields.hpp"
#include "core/input/json_text.hpp"
#include "wisdom/sqlite.hpp"

namespace tilewright {

// Presence of a field in a JSON line: required, always written, or written only if it is known.
enum class Presence : std::uint8_t { required, always, if_known };

template <class S, class M>
struct Column : Field<S, M> {
  Presence presence = Presence::always;
};
template <class S, class M>
constexpr Column<S, M> column(const char* name, M S::*member, Presence presence = Presence::always) {
  return {{name, member}, presence};
}

namespace columns {

using Json = nlohmann::json;

template <class V>
constexpr bool is_optional = false;
template <class V>
constexpr bool is_optional<std::optional<V>> = true;

template <class V>
bool is_known(const V& value) {
  if constexpr (is_optional<V>)
    return value.has_value();
  else if constexpr (std::is_arithmetic_v<V>)
    return true;
  else
    return !value.empty();
}

template <class V>
Json json_of(const V& value) {
  if constexpr (is_optional<V>)
    return value ? Json(*value) : Json();
  else
    return value;
}

// Replaces the value, unless `json` is null.
template <class V>
void read(const Json& json, const char* name, V& value) {
  if constexpr (is_optional<V>) {
    if (json.is_null()) return;
    typename V::value_type known{};
    read(json, name, known);
    value = known;
  } else if constexpr (std::is_same_v<V, Json>) {
    if (!json.is_object())
      throw Error(ErrorCode::invalid_argument, name, fmt::format("'{}' is not an object", name));
    value = json;
  } else if (!json.is_null()) {
    value_from_json(json, name, value);
  }
}

template <class V>
const char* sql_type() {
  if constexpr (is_optional<V>)
    return std::is_same_v<typename V::value_type, double> ? "REAL" : "INTEGER";
  else
    return std::is_same_v<V, double>         ? "REAL NOT NULL"
           : std::is_same_v<V, std::int64_t> ? "INTEGER NOT NULL"
                                             : "TEXT NOT NULL";
}

inline void bind(sqlite::Statement& statement, int index, const Json& value) {
  statement.bind_copy(index, value.is_object() ? value.dump() : "{}");
}
inline void bind(sqlite::Statement& statement, int index, const std::string& value) {
  statement.bind(index, value);
}
template <class V>
void bind(sqlite::Statement& statement, int index, const V& value) {
  if constexpr (is_optional<V>)
    value ? statement.bind(index, *value) : statement.bind_null(index);
  else
    statement.bind(index, value);
}

template <class V>
void read(const sqlite::Statement& row, int column, V& value) {
  if (column < 0 || row.is_null(column)) return;
  if constexpr (is_optional<V>)
    read(row, column, value.emplace());
  else if constexpr (std::is_same_v<V, double>)
    value = row.real(column);
  else if constexpr (std::is_same_v<V, std::int64_t>)
    value = row.integer(column);
  else if constexpr (std::is_same_v<V, Json>) {
    // Unreadable JSON is kept as an empty object.
    value = parse_json_or_discard(row.text(column));
    if (!value.is_object()) value = Json::object();
  } else {
    value = row.text(column);
  }
}

// An optional number.
template <class V>
constexpr bool is_number = false;
template <class V>
constexpr bool is_number<std::optional<V>> = std::is_arithmetic_v<V>;

template <class V>
bool is_measured(V value) {
  return value >= 0 && double(value) <= std::numeric_limits<double>::max();
}

// Throws Error naming the key if the number is negative or infinite.
template <class V>
void require_measured(const char* name, const V& value) {
  if constexpr (is_optional<V>) {
    if (value) require_measured(name, *value);
  } else if (!is_measured(value)) {
    throw Error(ErrorCode::invalid_argument, name,
                fmt::format("{} = {} is not a valid measurement", name, value));
  }
}

// The same for all numbers of a struct, with exceptions.
template <class S>
void require_measured_fields(const S& value, std::initializer_list<std::string_view> unless = {}) {
  for_each_field<S>([&](const auto& f) {
    using V = std::remove_cvref_t<decltype(value.*(f.member))>;
    if constexpr (std::is_arithmetic_v<V> || is_number<V>)
      if (std::find(unless.begin(), unless.end(), f.name) == unless.end())
        require_measured(f.name, value.*(f.member));
  });
}

// Throws Error naming the key unless it is an ISO 8601 day, a UTC time to the second, or "".
inline void require_date(const char* name, const std::string& value) {
  std::string form = value;
  for (char& c : form)
    if (c >= '0' && c <= '9') c = 'd';
  if (!form.empty() && form != "dddd-dd-dd" && form != "dddd-dd-ddTdd:dd:ddZ")
    throw Error(ErrorCode::invalid_argument, name,
                fmt::format("{} = '{}' is not a date such as 2016-11-21T10:00:00Z", name, value));
}

// All columns: the fields, then `extra`.
template <class S, class F>
void for_each(F&& f) {
  for_each_field<S>(f);
  f(column("extra", &S::extra));
}

}  // namespace columns

// Lists of all columns: "a, b, c", "a TEXT NOT NULL, b REAL" and "?, ?".
template <class S>
std::string column_names() {
  std::vector<std::string> texts;
  columns::for_each<S>([&](const auto& f) { texts.emplace_back(f.name); });
  return fmt::format("{}", fmt::join(texts, ", "));
}
template <class S>
std::string column_definitions() {
  std::vector<std::string> texts;
  columns::for_each<S>([&](const auto& f) {
    using V = std::remove_cvref_t<decltype(std::declval<S>().*(f.member))>;
    texts.push_back(fmt::format("{} {}", f.name, columns::sql_type<V>()));
  });
  return fmt::format("{}", fmt::join(texts, ", "));
}
template <class S>
std::string column_places() {
  std::string text = "?";
  for_each_field<S>([&](const auto&) { text += ", ?"; });  // and one for the other keys
  return text;
}

// Binds all columns from place 1 on and returns the next place. The struct must live until the reset.
template <class S>
int bind_columns(sqlite::Statement& statement, const S& value) {
  int index = 1;
  columns::for_each<S>([&](const auto& f) { columns::bind(statement, index++, value.*(f.member)); });
  return index;
}

// Reads rows as structs. Columns are found by name, because tables of older versions lack some.
template <class S>
class RowReader {
 public:
  explicit RowReader(const sqlite::Statement& rows) : rows_(rows) {
    columns::for_each<S>([&](const auto& f) { places_.push_back(rows.column_named(f.name)); });
  }
  S read() const {
    S value;
    std::size_t at = 0;
    columns::for_each<S>([&](const auto& f) { columns::read(rows_, places_[at++], value.*(f.member)); });
    return value;
  }

 private:
  const sqlite::Statement& rows_;
  std::vector<int> places_;
};

// The JSON line of a struct.
template <class S>
nlohmann::json line_of(const S& value) {
  nlohmann::json object = value.extra.is_object() ? value.extra : nlohmann::json::object();
  for_each_field<S>([&](const auto& f) {
    const auto& member = value.*(f.member);
    if (f.presence != Presence::if_known || columns::is_known(member))
      object[f.name] = columns::json_of(member);
  });
  return object;
}

// Moves the keys that are fields to their members. Throws Error naming the wrong key.
template <class S>
void take_fields(nlohmann::json& object, S& value) {
  for_each_field<S>([&](const auto& f) {
    const auto it = object.find(f.name);
    if (it == object.end()) return;
    columns::read(*it, f.name, value.*(f.member));
    object.erase(it);
  });
}

// The struct of a line. Throws Error naming the wrong or missing key.
template <class S>
S from_line(nlohmann::json object) {
  for_each_field<S>([&](const auto& f) {
    using V = std::remove_cvref_t<decltype(std::declval<S>().*(f.member))>;
    constexpr bool is_object = std::is_same_v<V, nlohmann::json>;
    const auto it = object.find(f.name);
    if (f.presence == Presence::required &&
        (it == object.end() || !(is_object ? it->is_object() : it->is_string())))
      throw Error(ErrorCode::invalid_argument, f.name,
                  fmt::format("'{}' is missing or is not {}", f.name, is_object ? "an object" : "a text"));
  });
  S value;
  take_fields(object, value);
  value.extra = std::move(object);
  return value;
}

}  // namespace tilewright
