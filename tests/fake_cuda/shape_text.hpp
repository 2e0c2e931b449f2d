// Reads the shape for which an expression instantiates a stencil from its text.
#pragma once

#include <cctype>
#include <string>
#include <string_view>
#include <type_traits>

#include "core/fields.hpp"

namespace tilewright::fake_cuda {

// Returns the word after ".name=", or after the "decltype(...)(" that begins the value; "" if there is none.
inline std::string value_of(const std::string& text, std::string_view name) {
  const std::string key = "." + std::string(name) + "=";
  std::size_t at = text.find(key);
  if (at == std::string::npos) return "";
  at += key.size();
  if (text.compare(at, 9, "decltype(") == 0) at = text.find(")(", at) + 2;
  std::size_t end = at;
  while (end < text.size() && (std::isalnum(static_cast<unsigned char>(text[end])) || text[end] == '_'))
    ++end;
  return text.substr(at, end - at);
}

// Parses ".m=4, .step_a=decltype(...)(2), ..." inside "GemmSmallShape{...}".
template <class Shape>
Shape shape_of(const std::string& expression, const char* begins) {
  const std::size_t begin = expression.find(begins);
  const std::string text = expression.substr(begin, expression.find('}', begin) - begin);
  Shape shape;
  for_each_field<Shape>([&](const auto& f) {
    const std::string word = value_of(text, f.name);
    if (word.empty()) return;
    using M = std::remove_cvref_t<decltype(shape.*(f.member))>;
    if constexpr (std::is_same_v<M, bool>)
      shape.*(f.member) = word == "true";
    else
      shape.*(f.member) = static_cast<M>(std::stoi(word));
  });
  return shape;
}

}  // namespace tilewright::fake_cuda
