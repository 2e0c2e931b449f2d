// Work of a stream recorded once and launched repeatedly. Only work that neither waits nor allocates may be
// recorded, such as calls through prepared plans.
#pragma once

#include <functional>

#include "device/gpu/gpu.hpp"

struct CUgraphExec_st;

namespace tilewright {

// True if work put into the stream is currently being recorded into a graph.
bool is_capturing(const Gpu& gpu, CUstream_st* stream);

class GpuGraph {
 public:
  // Records the work that `work` puts into the stream, without running it. Throws the exceptions of `work`,
  // and Error(internal) when the driver refuses the recording.
  GpuGraph(const Gpu& gpu, CUstream_st* stream, const std::function<void()>& work);
  ~GpuGraph();
  GpuGraph(const GpuGraph&) = delete;
  GpuGraph& operator=(const GpuGraph&) = delete;

  void launch(CUstream_st* stream) const;

 private:
  const Gpu* gpu_;
  CUgraphExec_st* graph_ = nullptr;
};

}  // namespace tilewright
