// The internal side of LuProblem: its field list, and the config that tuning chooses for a factorization.
#pragma once

#include <string>

#include "core/fields.hpp"
#include "tilewright/problem.hpp"

namespace tilewright {

template <>
struct FieldList<LuProblem> {
  using P = LuProblem;
  static constexpr auto value =
      std::make_tuple(field("dtype", &P::dtype), field("m", &P::m), field("n", &P::n), field("lda", &P::lda),
                      field("location", &P::location));
};

// The implementation that factors, and its panel width in columns; 0: the implementation's own or heuristic
// width.
struct LuConfig {
  std::string candidate{};
  std::int64_t nb = 0;

  friend bool operator==(const LuConfig&, const LuConfig&) = default;
};

template <>
struct FieldList<LuConfig> {
  static constexpr auto value =
      std::make_tuple(field("candidate", &LuConfig::candidate), field("nb", &LuConfig::nb));
};

// True if the text of a problem is that of a factorization.
inline bool is_lu_text(const std::string& text) { return text.starts_with("lu:"); }

}  // namespace tilewright
