// Captures, instantiates and launches graphs. A capture that was begun is always ended, or the stream would
// stay unusable.
#include "device/gpu/graph.hpp"

#include "device/gpu/driver.hpp"

namespace tilewright {

bool is_capturing(const Gpu& gpu, CUstream_st* stream) {
  const Gpu::Current current(gpu);
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  gpu.driver().check(gpu.driver().stream_is_capturing(stream, &status), "cuStreamIsCapturing");
  return status == CU_STREAM_CAPTURE_STATUS_ACTIVE;
}

GpuGraph::GpuGraph(const Gpu& gpu, CUstream_st* stream, const std::function<void()>& work) : gpu_(&gpu) {
  const GpuDriver& driver = gpu.driver();
  const Gpu::Current current(gpu);
  driver.check(driver.stream_begin_capture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL),
               "cuStreamBeginCapture");
  CUgraph recorded = nullptr;
  try {
    work();
  } catch (...) {
    if (driver.stream_end_capture(stream, &recorded) == CUDA_SUCCESS && recorded != nullptr)
      driver.graph_destroy(recorded);
    throw;
  }
  driver.check(driver.stream_end_capture(stream, &recorded), "cuStreamEndCapture");
  const CUresult result = driver.graph_instantiate(&graph_, recorded, 0);
  driver.graph_destroy(recorded);
  driver.check(result, "cuGraphInstantiate");
}

GpuGraph::~GpuGraph() {
  if (graph_ != nullptr) gpu_->driver().graph_exec_destroy(graph_);
}

void GpuGraph::launch(CUstream_st* stream) const {
  const Gpu::Current current(*gpu_);
  gpu_->driver().check(gpu_->driver().graph_launch(graph_, stream), "cuGraphLaunch");
}

}  // namespace tilewright
