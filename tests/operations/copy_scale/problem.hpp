// An operation that the library does not have, y = a x, to show what an operation brings: its problem, its
// configs and the loop that they describe.
#pragma once

#include <cstdint>
#include <string>

#include "core/fields.hpp"
#include "wisdom/wisdom.hpp"

namespace tilewright::testing {

struct CopyScaleProblem {
  std::int64_t n = 0;
  friend bool operator==(const CopyScaleProblem&, const CopyScaleProblem&) = default;
};
std::string to_string(const CopyScaleProblem& problem);  // copy_scale:f64:n=1000
// Throws Error(invalid_argument).
CopyScaleProblem parse_copy_scale(const std::string& text);

// Elements are copied in chunks; a wrong kind of tail writes whole chunks, and so behind y.
struct CopyScaleConfig {
  int chunk = 8;
  bool exact_tail = true;
  friend bool operator==(const CopyScaleConfig&, const CopyScaleConfig&) = default;
};
void copy_scale(const CopyScaleConfig& config, double a, const double* x, std::int64_t n, double* y);

// What records of it name as their device.
inline constexpr const char* copy_scale_device = "a machine";

// Makes its records known to wisdom; more calls than one change nothing.
void add_copy_scale_family();
// The records for just this problem, as Wisdom::offer offers those of products.
bool offer_copy_scale(const Wisdom* wisdom, const CopyScaleProblem& problem, const std::string& device,
                      const std::string& objective, const Wisdom::Take& take);

}  // namespace tilewright::testing

template <>
struct tilewright::FieldList<tilewright::testing::CopyScaleConfig> {
  using C = tilewright::testing::CopyScaleConfig;
  static constexpr auto value =
      std::make_tuple(field("chunk", &C::chunk), field("exact_tail", &C::exact_tail));
};
