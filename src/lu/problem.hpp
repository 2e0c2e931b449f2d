// The words of LU as printing and parsing know them: names of LuSelect, the fields of LuProblem, its text.
#pragma once

#include <algorithm>

#include "core/problem.hpp"
#include "tilewright/lu.hpp"

namespace tilewright {

template <>
struct EnumNames<LuSelect> {
  static constexpr std::array value{std::pair{LuSelect::panel, "panel"},
                                    std::pair{LuSelect::square, "square"},
                                    std::pair{LuSelect::flops, "flops"}};
};

template <>
struct FieldList<LuProblem> {
  using P = LuProblem;
  static constexpr auto value =
      std::make_tuple(field("dtype", &P::dtype), field("m", &P::m), field("n", &P::n), field("lda", &P::lda));
};

// "lu:f64:m=1000,n=1000", with ":lda=1008" where columns are padded.
inline std::string to_string(const LuProblem& p) {
  const std::string padded = p.lda > std::max<std::int64_t>(1, p.m) ? fmt::format(":lda={}", p.lda) : "";
  return fmt::format("lu:{}:m={},n={}{}", to_string(p.dtype), p.m, p.n, padded);
}

// m n^2 - n^3 / 3 for m >= n, multiplications and additions; the same with m and n swapped for wide matrices.
// An operation of complex numbers counts as four.
inline double flops(const LuProblem& p) {
  const double most = double(std::max(p.m, p.n)), least = double(std::min(p.m, p.n));
  return (is_complex(p.dtype) ? 4 : 1) * least * least * (most - least / 3);
}

}  // namespace tilewright
