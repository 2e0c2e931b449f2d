// The internal side of LuProblem: its field list, and what tuning decides of a factorization.
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

// Who factors, and by panels of how many columns; 0: the candidate has its own, or goes by its rule.
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

// Whether the text of a problem is that of a factorization.
inline bool is_lu_text(const std::string& text) { return text.starts_with("lu:"); }

}  // namespace tilewright
