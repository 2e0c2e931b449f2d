// GemmOptions from Python's words.
#pragma once

#include <nanobind/nanobind.h>

#include <string>

#include "tilewright/gemm.hpp"

namespace tilewright::python {

// What a keyword's text stands for; throws Error listing the texts that are known.
Target parse_target(const std::string& text);
// "time", "energy", "edp", "alpha=0.7", "energy_within=5%".
void parse_objective(const std::string& text, GemmOptions& to);

void bind_options(nanobind::module_& module);

}  // namespace tilewright::python
