// A family of "kernels" for the CPU that is nobody's: what it is called, its configs, and how it multiplies.
#pragma once

#include "gemm/candidate.hpp"

namespace tilewright {

struct DummyConfig {
  int units = 8;
  friend bool operator==(const DummyConfig&, const DummyConfig&) = default;
};
template <>
struct FieldList<DummyConfig> {
  static constexpr auto value = std::make_tuple(field("units", &DummyConfig::units));
};

// Of its records.
inline constexpr const char *dummy_name = "dummy", *dummy_source = "its source", *dummy_device = "a machine";

// Makes its records known to wisdom; more calls than one change nothing.
void add_dummy_family();

// What no other family does: f32 on the host above a size of 64.
bool dummy_serves(const GemmProblem& problem);
// Multiplies by the reference, whatever the config.
extern const GemmCandidate dummy_candidate;

}  // namespace tilewright
