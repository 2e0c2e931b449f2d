// A GPU of this machine as the pipelined executor uses it: a stream per lane, events as marks, and device and
// pinned memory that is kept from one product to the next, since allocating either costs as much as moving
// some hundred megabytes.
#pragma once

#include <functional>
#include <memory>

#include "gemm/hybrid/stream/stream_device.hpp"

namespace tilewright {

// `multiply` queues a product of operands in this GPU's memory on operands.stream and does not wait. The
// device is used by one thread at a time; copy_from_peer() of another may meanwhile ask it for its marks.
// Throws Error(unsupported) without a driver and Error(invalid_argument) for a GPU that does not exist.
std::unique_ptr<StreamDevice> make_cuda_device(
    int ordinal, std::function<void(const GemmProblem&, const Operands&)> multiply);

}  // namespace tilewright
