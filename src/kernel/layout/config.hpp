// The config of conversions between batch layouts: which block they should produce. How they copy is not a
// choice.
#pragma once

#include "core/fields.hpp"

namespace tilewright {

struct LayoutConfig {
  std::int64_t block = 8;  // problems per block

  friend bool operator==(const LayoutConfig&, const LayoutConfig&) = default;
};

template <>
struct FieldList<LayoutConfig> {
  static constexpr auto value = std::make_tuple(field("block", &LayoutConfig::block));
};

}  // namespace tilewright
