// Configs and shapes of tests as text that the compiler reads, "tile_m=64 load=async persistent": fields by
// the names of their list, a name alone is true, and what the text does not name keeps its default. A name or
// a value that does not exist fails to compile.
#pragma once

#include <algorithm>
#include <string_view>

#include "core/fields.hpp"

namespace tilewright::emulation {

template <class M>
constexpr M field_value(std::string_view text) {
  if constexpr (std::is_enum_v<M>) {
    for (const auto& [value, name] : EnumNames<M>::value)
      if (text == name) return value;
    throw "there is no value of that name";
  } else if constexpr (std::is_same_v<M, bool>) {
    return text != "false";
  } else {
    M value = 0;
    for (const char digit : text) value = M(10 * value + M(digit - '0'));
    return value;
  }
}

template <class S>
consteval S fields(std::string_view text) {
  S result{};
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(' ')), name = word.substr(0, word.find('='));
    text.remove_prefix(std::min(text.size(), word.size() + 1));
    const std::string_view value = word.substr(std::min(word.size(), name.size() + 1));
    bool found = false;
    for_each_field<S>([&](const auto& one) {
      if (name != one.name) return;
      auto& member = result.*(one.member);
      member = field_value<std::remove_reference_t<decltype(member)>>(value);
      found = true;
    });
    if (!found) throw "there is no field of that name";
  }
  return result;
}

}  // namespace tilewright::emulation
