// Converts Python's keywords to GemmOptions.
#pragma once

#include <nanobind/nanobind.h>

#include <string>

#include "tilewright/gemm.hpp"

namespace tilewright::python {

// These convert a text; they throw Error listing the valid texts.
Target parse_target(const std::string& text);
Op parse_op(const std::string& text);
// Parses "time", "energy", "edp", "alpha=0.7" or "energy_within=5%".
void parse_objective(const std::string& text, GemmOptions& to);

void bind_options(nanobind::module_& module);

}  // namespace tilewright::python
