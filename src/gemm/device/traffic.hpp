// What a batch in device memory must move, as its memory does: in whole sectors of 32 bytes. It measures
// nothing.
#pragma once

#include "core/problem.hpp"
#include "kernel/probe/stream.hpp"

namespace tilewright {

// Bytes in whole sectors that the batch must touch, reads and writes, and its arrays of pointers; and what of
// it streams through A, B and C. Sectors that neighbours share count once, but for pointer batches, whose
// matrices follow each other in any order: there each matrix counts its own.
struct GpuTraffic {
  double bytes = 0;
  GpuStreamMix mix;
};

// `problem` is packed and of one size: single, strided, pointer, or interleaved.
GpuTraffic gpu_traffic(const GemmProblem& problem);

}  // namespace tilewright
