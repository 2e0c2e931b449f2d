// The text of a problem, the loop, and the line of wisdom.
#include "operations/copy_scale/problem.hpp"

#include <algorithm>

#include "core/quantity.hpp"
#include "plan/nearest.hpp"
#include "wisdom/families.hpp"

namespace tilewright::testing {

std::string to_string(const CopyScaleProblem& problem) {
  return fmt::format("copy_scale:f64:n={}", problem.n);
}

CopyScaleProblem parse_copy_scale(const std::string& text) {
  constexpr std::string_view start = "copy_scale:f64:n=";
  const auto n = text.starts_with(start) ? integer_from_text(text.substr(start.size())) : std::nullopt;
  if (!n || *n < 0)
    throw Error(ErrorCode::invalid_argument, "problem",
                fmt::format("problem '{}' is not of the form copy_scale:f64:n=...", text));
  return {*n};
}

void copy_scale(const CopyScaleConfig& config, double a, const double* x, std::int64_t n, double* y) {
  for (std::int64_t begin = 0; begin < n; begin += config.chunk) {
    const std::int64_t end = config.exact_tail ? std::min(begin + config.chunk, n) : begin + config.chunk;
    for (std::int64_t i = begin; i < end; ++i) y[i] = a * x[i];
  }
}

void add_copy_scale_family() {
  static const bool once = [] {
    const auto any = [](const nlohmann::json&) { return std::string(); };
    add_family("copy_scale", {"copy_scale", "its source", complete_fields<CopyScaleConfig>, any});
    return true;
  }();
  (void)once;
}

bool offer_copy_scale(const Wisdom* wisdom, const CopyScaleProblem& problem, const std::string& device,
                      const std::string& objective, const Wisdom::Take& take) {
  const auto away = [&](const std::string& text) {
    return parse_copy_scale(text) == problem ? std::optional(0.0) : std::nullopt;
  };
  return wisdom != nullptr && offer_nearest(*wisdom, "copy_scale", device, objective, away, take);
}

}  // namespace tilewright::testing
