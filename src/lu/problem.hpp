// The words of LU as printing and parsing know them.
#pragma once

#include "core/lu_problem.hpp"
#include "core/problem.hpp"
#include "tilewright/lu.hpp"

namespace tilewright {

template <>
struct EnumNames<LuSelect> {
  static constexpr std::array value{std::pair{LuSelect::panel, "panel"},
                                    std::pair{LuSelect::square, "square"},
                                    std::pair{LuSelect::flops, "flops"}};
};

}  // namespace tilewright
