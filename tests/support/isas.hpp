// The instruction sets this machine can run kernels for. Tests go through all of them, not only the best.
#pragma once

#include <string>
#include <vector>

#include "kernel/gemm_small_cpu/config.hpp"

namespace tilewright::testing {

std::vector<Isa> runnable_isas();

// Returns the name for a parameterised test, e.g. from INSTANTIATE_TEST_SUITE_P over runnable_isas().
template <class Info>
std::string isa_name(const Info& info) {
  return to_string(info.param);
}

}  // namespace tilewright::testing
