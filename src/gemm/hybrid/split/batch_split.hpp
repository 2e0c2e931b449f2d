// How a batch of products of operands in host memory is shared out among the CPU and the GPUs, by the bytes
// that have to move and the operations: a pure function of what is known of the machine.
#pragma once

#include "gemm/hybrid/split/shares.hpp"

namespace tilewright {

// As choose_split, of a batch in any layout. Splits have side = problems.
SplitChoice choose_batch_split(const NodeModel& node, const SplitRequest& request);

}  // namespace tilewright
