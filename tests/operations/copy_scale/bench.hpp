// y = a x as a family of `bench`, beside memcpy.
#pragma once

#include "bench_flags.hpp"

namespace tilewright::testing {

const cli::BenchFamily& copy_scale_bench();

}  // namespace tilewright::testing
