// Work that is queued on a stream of the fake driver and runs when a caller waits for it.
#pragma once

#include <functional>

#include "fake_machine.hpp"

namespace tilewright::fake_cuda {

// Returns the status for the device on whose stream it was queued.
using QueuedWork = std::function<CUresult()>;

// Runs the work later, or whenever the graph that is being captured is launched; at once on the default
// stream.
CUresult queue(CUstream stream, QueuedWork work);
// Returns the stream's device; for the default stream, that of the calling thread.
int device_of(CUstream stream);
bool is_capturing(CUstream stream);
// Runs all work that is queued on the streams of this context; null: on all streams.
CUresult finish(CUcontext context);

}  // namespace tilewright::fake_cuda
