// Work of a stream recorded once and launched again and again. What may be recorded is what neither waits nor
// allocates: calls through prepared plans among it.
#pragma once

#include <functional>

#include "device/gpu/gpu.hpp"

struct CUgraphExec_st;

namespace tilewright {

// Whether what is put into the stream is recorded into a graph just now.
bool is_capturing(const Gpu& gpu, CUstream_st* stream);

class GpuGraph {
 public:
  // Records what `work` puts into the stream, without running it. Throws what `work` throws, and
  // Error(internal) when the driver refuses the recording.
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
