// `tune lu:...`: who factors, and by which panels, searched for and kept as wisdom.
#pragma once

#include "tune_flags.hpp"

namespace tilewright::cli {

// Whether the problems that are named are factorizations. Throws Error(invalid_argument) where some are and
// others are products.
bool is_lu_tuning(const TuneFlags& flags);

void tune_factorizations(const TuneFlags& flags);

}  // namespace tilewright::cli
