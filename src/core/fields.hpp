// One field list per struct. A struct that specialises FieldList gets printing, JSON, hashing and parsing by
// name from the functions below; nothing else in the project lists its members again. Enums get their names
// the same way.
#pragma once

#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include "core/json.hpp"
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

// Specialise with `static constexpr std::array value{std::pair{E::x, "x"}, ...}`.
template <class E>
struct EnumNames;

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

template <class E>
E enum_from_string(std::string_view text, std::string_view argument) {
  std::string known;
  for (const auto& [candidate, name] : EnumNames<E>::value) {
    if (text == name) return candidate;
    known += known.empty() ? name : std::string(", ") + name;
  }
  throw Error(ErrorCode::invalid_argument, std::string(argument),
              fmt::format("{} = '{}' is not one of {}", argument, text, known));
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
                      fmt::format("{} = {} is no integer of its range", argument, json.dump()));
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
    return fmt::format("no JSON from its byte {} on", parse->byte);
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
      throw Error(ErrorCode::invalid_argument, item.key(), fmt::format("'{}' is not a field", item.key()));
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

template <class S>
std::size_t hash_fields(const S& object) {
  std::uint64_t h = 1469598103934665603ull;  // FNV-1a over the members' integral values
  for_each_field<S>([&](const auto& f) {
    using M = std::remove_cvref_t<decltype(object.*(f.member))>;
    h = (h ^ static_cast<std::uint64_t>(std::hash<M>{}(object.*(f.member)))) * 1099511628211ull;
  });
  return static_cast<std::size_t>(h);
}

template <>
struct EnumNames<DType> {
  static constexpr std::array value{std::pair{DType::f32, "f32"}, std::pair{DType::f64, "f64"},
                                    std::pair{DType::c64, "c64"}, std::pair{DType::c128, "c128"}};
};
template <>
struct EnumNames<Op> {
  static constexpr std::array value{std::pair{Op::none, "n"}, std::pair{Op::trans, "t"},
                                    std::pair{Op::conj_trans, "c"}};
};
template <>
struct EnumNames<Layout> {
  static constexpr std::array value{std::pair{Layout::single, "single"},
                                    std::pair{Layout::strided, "strided"},
                                    std::pair{Layout::pointer, "pointer"},
                                    std::pair{Layout::interleaved, "interleaved"},
                                    std::pair{Layout::block_interleaved, "block_interleaved"},
                                    std::pair{Layout::grouped, "grouped"},
                                    std::pair{Layout::variable, "variable"}};
};
template <>
struct EnumNames<Location> {
  static constexpr std::array value{std::pair{Location::host, "host"}, std::pair{Location::device, "device"}};
};
template <>
struct EnumNames<Target> {
  static constexpr std::array value{std::pair{Target::automatic, "auto"}, std::pair{Target::cpu, "cpu"},
                                    std::pair{Target::gpu, "gpu"}, std::pair{Target::hybrid, "hybrid"}};
};
template <>
struct EnumNames<SplitWay> {
  static constexpr std::array value{
      std::pair{SplitWay::model, "model"}, std::pair{SplitWay::guided, "guided"},
      std::pair{SplitWay::exhaustive, "exhaustive"}, std::pair{SplitWay::fixed, "fixed"}};
};
template <>
struct EnumNames<OnDeviceFailure> {
  static constexpr std::array value{std::pair{OnDeviceFailure::error, "error"},
                                    std::pair{OnDeviceFailure::redo, "redo"}};
};
template <>
struct EnumNames<Objective> {
  static constexpr std::array value{std::pair{Objective::time, "time"},
                                    std::pair{Objective::energy, "energy"}, std::pair{Objective::edp, "edp"},
                                    std::pair{Objective::alpha, "alpha"},
                                    std::pair{Objective::energy_within, "energy_within"}};
};
template <>
struct EnumNames<MathMode> {
  static constexpr std::array value{std::pair{MathMode::full, "full"}};
};
template <>
struct EnumNames<Residency> {
  static constexpr std::array value{std::pair{Residency::automatic, "auto"},
                                    std::pair{Residency::cold, "cold"}, std::pair{Residency::l2, "l2"},
                                    std::pair{Residency::l1, "l1"}};
};

}  // namespace tilewright
