// Static counts of generated code per problem.
#pragma once

#include <cstdint>

#include "core/fields.hpp"

namespace tilewright {

// Counts per problem of the generated code (Masliah 2016, Figs. 3 and 5a); zero for the portable source.
struct KernelCounts {
  double instructions = 0;
  double loads = 0;
  double stores = 0;
  double multiply_adds = 0;
  double prefetches = 0;
  std::int64_t code_bytes = 0;
};
template <>
struct FieldList<KernelCounts> {
  using C = KernelCounts;
  static constexpr auto value =
      std::make_tuple(field("instructions", &C::instructions), field("loads", &C::loads),
                      field("stores", &C::stores), field("multiply_adds", &C::multiply_adds),
                      field("prefetches", &C::prefetches), field("code_bytes", &C::code_bytes));
};

}  // namespace tilewright
