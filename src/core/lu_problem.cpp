// Writes and reads the text of a LuProblem, lu:dtype:m=...,n=...[:lda=...][:location=...], and counts its
// work.
#include "core/lu_problem.hpp"

#include <algorithm>
#include <string_view>
#include <vector>

#include "core/quantity.hpp"
#include "core/unbuilt.hpp"

namespace tilewright {
namespace {

std::vector<std::string_view> pieces(std::string_view text, char separator) {
  std::vector<std::string_view> all;
  for (std::size_t at = 0; (at = text.find(separator)) != std::string_view::npos; text.remove_prefix(at + 1))
    all.push_back(text.substr(0, at));
  all.push_back(text);
  return all;
}

class LuText {
 public:
  explicit LuText(std::string_view text) : text_(text) {}

  LuProblem parse() const {
    refuse_unbuilt(text_);
    const auto parts = pieces(text_, ':');
    if (parts.size() < 3 || parts[0] != "lu")
      fail(text_, "is not of the form lu:dtype:m=...,n=..., as in lu:f64:m=1000,n=1000");
    LuProblem problem;
    problem.dtype = enum_named<DType>(parts[1], parts[1]);
    const auto sizes = pieces(parts[2], ',');
    if (sizes.size() != 2) fail(parts[2], "is not m=...,n=...");
    problem.m = integer(sizes[0], "m");
    problem.n = integer(sizes[1], "n");
    problem.lda = std::max<std::int64_t>(1, problem.m);
    for (std::size_t i = 3; i < parts.size(); ++i) {
      if (parts[i].starts_with("lda="))
        problem.lda = integer(parts[i], "lda");
      else if (constexpr std::string_view key = "location="; parts[i].starts_with(key))
        problem.location = enum_named<Location>(parts[i], parts[i].substr(key.size()));
      else
        fail(parts[i], "is neither lda=... nor location=...");
    }
    return problem;
  }

 private:
  [[noreturn]] void fail(std::string_view part, std::string_view why) const {
    throw Error(ErrorCode::invalid_argument, "problem",
                fmt::format("problem '{}': the part '{}' {}", text_, part, why));
  }

  template <class E>
  E enum_named(std::string_view part, std::string_view name) const {
    std::string known;
    for (const auto& [value, text] : EnumNames<E>::value) {
      if (name == text) return value;
      known += known.empty() ? text : std::string(", ") + text;
    }
    fail(part, "names none of " + known);
  }

  // Integers may be written as 1e4.
  std::int64_t integer(std::string_view part, std::string_view key) const {
    if (!part.starts_with(key) || part.substr(key.size(), 1) != "=")
      fail(part, fmt::format("stands where {}=... is expected", key));
    const auto whole = integer_from_text(part.substr(key.size() + 1));
    if (!whole) fail(part, "does not end in a 64-bit integer");
    return *whole;
  }

  std::string_view text_;
};

}  // namespace

std::string to_string(const LuProblem& p) {
  std::string text = fmt::format("lu:{}:m={},n={}", to_string(p.dtype), p.m, p.n);
  if (p.lda != std::max<std::int64_t>(1, p.m)) text += fmt::format(":lda={}", p.lda);
  if (p.location != Location::host) text += ":location=" + to_string(p.location);
  return text;
}

LuProblem parse_lu_problem(const std::string& text) { return LuText(text).parse(); }

double flops(const LuProblem& p) {
  const double most = double(std::max(p.m, p.n)), least = double(std::min(p.m, p.n));
  return (is_complex(p.dtype) ? 4 : 1) * least * least * (most - least / 3);
}

}  // namespace tilewright
