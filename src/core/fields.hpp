// One field list per struct: FieldList gives it printing, JSON, hashing and parsing by name, and nothing else
// lists its members again. Enums get their names the same way.
#pragma once

#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include "core/json.hpp"
#include "tilewright/routine.hpp"
#include "tilewright/types.hpp"

namespace tilewright {

template <class S, class M>
struct Field {
  const char* name;
  M S::*member;
};
template <class S, class M>
constexpr Field<S, M> field(const char* name, M S::*member) {
  return {name, member};
}

// Specialise with `static constexpr auto value = std::make_tuple(field("m", &S::m), ...)`.
template <class S>
struct FieldList;

template <class E>
struct EnumNames;
// Declares the names of an enum's values 0, 1, ...: TILEWRIGHT_NAMES(E, "x", "y", ...).
#define TILEWRIGHT_NAMES(E, ...)                         \
  template <>                                            \
  struct EnumNames<E> {                                  \
    static constexpr auto value = named<E>(__VA_ARGS__); \
  }
template <class E, class... Names>
constexpr std::array<std::pair<E, const char*>, sizeof...(Names)> named(Names... names) {
  int value = 0;
  return {std::pair{E(value++), names}...};
}

template <class S, class F>
constexpr void for_each_field(F&& f) {
  std::apply([&](const auto&... fields) { (f(fields), ...); }, FieldList<S>::value);
}

template <class E>
requires std::is_enum_v<E> std::string to_string(E value) {
  for (const auto& [candidate, name] : EnumNames<E>::value)
    if (candidate == value) return name;
  return "?";
}

// Returns "f32, f64, c64 or c128".
template <class E>
std::string expected_names() {
  std::string text;
  const auto& all = EnumNames<E>::value;
  for (std::size_t i = 0; i < all.size(); ++i)
    text += (i == 0 ? "" : i + 1 == all.size() ? " or " : ", ") + std::string(all[i].second);
  return text;
}

template <class E>
std::optional<E> enum_named(std::string_view name) {
  for (const auto& [value, its_name] : EnumNames<E>::value)
    if (name == its_name) return value;
  return std::nullopt;
}

// "f32, f64, c64, c128"
template <class E>
std::string enum_names() {
  std::string names;
  for (const auto& [value, name] : EnumNames<E>::value)
    names += (names.empty() ? "" : ", ") + std::string(name);
  return names;
}

template <class E>
E enum_from_string(std::string_view text, std::string_view argument) {
  if (const auto value = enum_named<E>(text)) return *value;
  throw Error(ErrorCode::invalid_argument, std::string(argument),
              fmt::format("{} = '{}' is not one of {}", argument, text, enum_names<E>()));
}

template <class M>
nlohmann::json value_to_json(const M& value) {
  if constexpr (std::is_enum_v<M>)
    return to_string(value);
  else
    return value;
}

// Reads an integer exactly: refuses 1.5, true and values that M cannot hold instead of converting them.
template <class M>
bool is_integer_of(const nlohmann::json& json) {
  if (!json.is_number_integer()) return false;
  if (json.is_number_unsigned()) return std::in_range<M>(json.get<std::uint64_t>());
  return std::in_range<M>(json.get<std::int64_t>());
}

template <class M>
void value_from_json(const nlohmann::json& json, std::string_view argument, M& value) {
  try {
    if constexpr (std::is_enum_v<M>) {
      value = enum_from_string<M>(json.get<std::string>(), argument);
    } else {
      if constexpr (std::is_integral_v<M> && !std::is_same_v<M, bool>)
        if (!is_integer_of<M>(json))
          throw Error(ErrorCode::invalid_argument, std::string(argument),
                      fmt::format("{} = {} is not an integer in the field's range", argument, json.dump()));
      value = json.get<M>();
    }
  } catch (const nlohmann::json::exception&) {
    throw Error(ErrorCode::invalid_argument, std::string(argument),
                fmt::format("{} = {} has the wrong type", argument, json.dump()));
  }
}

// Returns the parser's message about a line, without the JSON library's own numbering.
inline std::string json_fault(const std::exception& error) {
  if (const auto* parse = dynamic_cast<const nlohmann::json::parse_error*>(&error))
    return fmt::format("invalid JSON at byte {}", parse->byte);
  const std::string text = error.what();
  const std::size_t end = text.starts_with("[json.exception") ? text.find("] ") : std::string::npos;
  return end == std::string::npos ? text : text.substr(end + 2);
}

template <class S>
nlohmann::json to_json(const S& object) {
  nlohmann::json json = nlohmann::json::object();
  for_each_field<S>([&](const auto& f) { json[f.name] = value_to_json(object.*(f.member)); });
  return json;
}

// Formats the member called `name`; null if no field has that name.
template <class S>
nlohmann::json field_to_json(const S& object, std::string_view name) {
  nlohmann::json json;
  for_each_field<S>([&](const auto& f) {
    if (name == f.name) json = value_to_json(object.*(f.member));
  });
  return json;
}

template <class S>
std::string field_names() {
  std::string names;
  for_each_field<S>([&](const auto& f) { names += (names.empty() ? "" : ", ") + std::string(f.name); });
  return names;
}

// Members absent from `json` keep their value from `base`; unknown names are refused.
template <class S>
S from_json(const nlohmann::json& json, S base = {}) {
  std::size_t known = 0;
  for_each_field<S>([&](const auto& f) {
    if (auto it = json.find(f.name); it != json.end()) {
      value_from_json(*it, f.name, base.*(f.member));
      ++known;
    }
  });
  if (known == json.size()) return base;
  for (const auto& item : json.items()) {
    bool found = false;
    for_each_field<S>([&](const auto& f) { found = found || item.key() == f.name; });
    if (!found)
      throw Error(ErrorCode::invalid_argument, item.key(),
                  fmt::format("'{}' is not a field (expected one of {})", item.key(), field_names<S>()));
  }
  return base;
}

// Formats "name=value name=value ..." for people.
template <class S>
std::string describe(const S& object) {
  std::string text;
  for_each_field<S>([&](const auto& f) {
    const auto json = value_to_json(object.*(f.member));
    if (!text.empty()) text += ' ';
    text += fmt::format("{}={}", f.name, json.is_string() ? json.template get<std::string>() : json.dump());
  });
  return text;
}

// Declares the field list of S: at most 64 members, each under its own name.
#define TILEWRIGHT_FIELDS(S, ...)                                                    \
  template <>                                                                        \
  struct FieldList<S> {                                                              \
    static constexpr auto value =                                                    \
        std::make_tuple(TILEWRIGHT_EXPAND64(TILEWRIGHT_EACH_FIELD(S, __VA_ARGS__))); \
  }
#define TILEWRIGHT_EACH_FIELD(S, member, ...) \
  field(#member, &S::member) __VA_OPT__(, TILEWRIGHT_NEXT_FIELD TILEWRIGHT_PARENS(S, __VA_ARGS__))
#define TILEWRIGHT_NEXT_FIELD() TILEWRIGHT_EACH_FIELD
#define TILEWRIGHT_PARENS ()
#define TILEWRIGHT_EXPAND64(...) \
  TILEWRIGHT_EXPAND16(TILEWRIGHT_EXPAND16(TILEWRIGHT_EXPAND16(TILEWRIGHT_EXPAND16(__VA_ARGS__))))
#define TILEWRIGHT_EXPAND16(...) \
  TILEWRIGHT_EXPAND4(TILEWRIGHT_EXPAND4(TILEWRIGHT_EXPAND4(TILEWRIGHT_EXPAND4(__VA_ARGS__))))
#define TILEWRIGHT_EXPAND4(...) \
  TILEWRIGHT_EXPAND1(TILEWRIGHT_EXPAND1(TILEWRIGHT_EXPAND1(TILEWRIGHT_EXPAND1(__VA_ARGS__))))
#define TILEWRIGHT_EXPAND1(...) __VA_ARGS__

template <class S>
std::size_t hash_fields(const S& object) {
  std::uint64_t h = 1469598103934665603ull;  // FNV-1a over the members' integral values
  for_each_field<S>([&](const auto& f) {
    using M = std::remove_cvref_t<decltype(object.*(f.member))>;
    h = (h ^ static_cast<std::uint64_t>(std::hash<M>{}(object.*(f.member)))) * 1099511628211ull;
  });
  return static_cast<std::size_t>(h);
}

TILEWRIGHT_NAMES(DType, "f32", "f64", "c64", "c128");
TILEWRIGHT_NAMES(Op, "n", "t", "c");
TILEWRIGHT_NAMES(Layout, "single", "strided", "pointer", "interleaved", "block_interleaved", "grouped",
                 "variable");
TILEWRIGHT_NAMES(Location, "host", "device");
TILEWRIGHT_NAMES(Target, "auto", "cpu", "gpu", "hybrid");
TILEWRIGHT_NAMES(SplitRule, "model", "guided", "exhaustive", "fixed");
TILEWRIGHT_NAMES(OnDeviceFailure, "error", "redo");
TILEWRIGHT_NAMES(Learn, "auto", "off", "calls");
TILEWRIGHT_NAMES(Objective, "time", "energy", "edp", "alpha", "energy_within");
TILEWRIGHT_NAMES(MathMode, "full");
TILEWRIGHT_NAMES(InfoMode, "none", "all", "group", "any");
TILEWRIGHT_NAMES(Routine, "potrf", "potrs", "posv", "potri", "getrf", "getrs", "gesv", "getri", "inv", "det",
                 "trsm", "geqrf", "ormqr", "gels", "syev", "gesvd");
TILEWRIGHT_NAMES(Residency, "auto", "cold", "l2", "l1");
TILEWRIGHT_NAMES(Arrival, "back_to_back", "idle");

}  // namespace tilewright
