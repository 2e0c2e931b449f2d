// Arithmetic on sizes, counts and strides that come from outside. A result that 64 bits do not hold is
// reported as nothing or saturates; it never wraps. The callers decide which sizes are valid.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>

namespace tilewright {

// Returns nothing if 64 bits do not hold the product.
constexpr std::optional<std::int64_t> checked_product(std::int64_t x, std::int64_t y) {
  std::int64_t product = 0;
  if (__builtin_mul_overflow(x, y, &product)) return std::nullopt;
  return product;
}
// Multiplies from the left: a zero later on does not undo an overflow before it.
template <class... More>
constexpr std::optional<std::int64_t> checked_product(std::int64_t x, std::int64_t y, More... more) {
  const auto product = checked_product(x, y);
  return product ? checked_product(*product, more...) : std::nullopt;
}

// Returns the product, or the nearest number that 64 bits hold.
constexpr std::int64_t saturating_product(std::int64_t x, std::int64_t y) {
  using Limits = std::numeric_limits<std::int64_t>;
  return checked_product(x, y).value_or((x < 0) == (y < 0) ? Limits::max() : Limits::min());
}
template <class... More>
constexpr std::int64_t saturating_product(std::int64_t x, std::int64_t y, More... more) {
  return saturating_product(saturating_product(x, y), more...);
}
constexpr std::int64_t saturating_sum(std::int64_t x, std::int64_t y) {
  using Limits = std::numeric_limits<std::int64_t>;
  std::int64_t sum = 0;
  return __builtin_add_overflow(x, y, &sum) ? (x < 0 ? Limits::min() : Limits::max()) : sum;
}
// For numbers that are not negative, such as seconds and joules.
constexpr double saturating_sum(double x, double y) {
  constexpr double most = std::numeric_limits<double>::max();
  return x > most - y ? most : x + y;
}

// Converts a floating-point number that is an integer; nothing for fractions, NaN and numbers beyond 64 bits.
inline std::optional<std::int64_t> integer_of(double value) {
  constexpr double limit = 9223372036854775808.0;  // 2^63
  if (!(value >= -limit && value < limit) || value != std::floor(value)) return std::nullopt;
  return static_cast<std::int64_t>(value);
}

}  // namespace tilewright
