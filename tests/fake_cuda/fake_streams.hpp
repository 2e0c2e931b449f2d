// Work that is queued on a stream of the fake driver and runs when something waits for it.
#pragma once

#include <functional>

#include "fake_machine.hpp"

namespace tilewright::fake_cuda {

// Of the device on whose stream it was queued.
using QueuedWork = std::function<CUresult()>;

// Later, or whenever the graph that is being captured is launched; at once on the default stream.
CUresult queue(CUstream stream, QueuedWork work);
// The device that the stream is of; the calling thread's for the default stream.
int device_of(CUstream stream);
bool is_capturing(CUstream stream);
// Runs all that is queued on the streams of these contexts; null: of all.
CUresult finish(CUcontext context);

}  // namespace tilewright::fake_cuda
