// Reasons joined to sentences.
#include "plan/explanation.hpp"

#include <fmt/format.h>

namespace tilewright {

std::string Explanation::reasons() const {
  std::string text;
  for (const Decision& decision : decisions)
    text += fmt::format("{}{}: {}", text.empty() ? "" : "; ", decision.candidate, decision.reason);
  return text;
}

std::string Explanation::reason_of(const std::string& name) const {
  for (const Decision& decision : decisions)
    if (decision.candidate == name) return decision.reason;
  return reasons();
}

}  // namespace tilewright
