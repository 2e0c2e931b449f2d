// How a product or batch of operands in host memory is shared out among the CPU and the GPUs: a pure function
// of what is known of the machine (Bernabe 2014, sections 3 and 5), and the paper's searches by timing. It
// asks no device and moves nothing; stream.hpp does what it says.
#pragma once

#include "gemm/hybrid/split/shares.hpp"

namespace tilewright {

// Throws Error(out_of_memory) naming the cap where not even one tile fits and the host may not be used, and
// Error(invalid_argument) where there is no GPU for what the CPU does not get. options.hpp checks the share.
SplitChoice choose_split(const NodeModel& node, const SplitRequest& request);

}  // namespace tilewright
