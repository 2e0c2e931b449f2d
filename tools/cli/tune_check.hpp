// `tune --check`: are the stored records still as good as they were? Each is measured again beside the
// default config; nothing is searched and nothing is stored.
#pragma once

#include "gemm/context_impl.hpp"
#include "tune_flags.hpp"

namespace tilewright::cli {

// Throws JobFailed naming how many records regressed.
void check_records(const TuneFlags& flags, const Context& context);

}  // namespace tilewright::cli
