// Loads and launches the scaling kernel.
#include "kernel/scale/loader.hpp"

#include <algorithm>

#include "core/dispatch.hpp"
#include "kernel/scale/config.hpp"

namespace tilewright {
namespace {

constexpr unsigned block_threads = 256;

}  // namespace

GpuScaleKind gpu_scale_kind(const GemmProblem& problem, bool zero) {
  return {problem.dtype, zero, contiguous_c(problem)};
}

GpuScale::GpuScale(const Gpu& gpu, const JitBinary& binary, const GpuScaleKind& kind)
    : gpu_(&gpu), kind_(kind), module_(gpu, binary.code), function_(module_.function(binary.function(), 0)) {
  const int fit = std::max(1, function_.blocks_per_multiprocessor(block_threads, 0));
  most_blocks_ = unsigned(gpu.limits().multiprocessors * fit);
}

void GpuScale::launch(const GemmProblem& p, void* c, const void* beta, CUstream_st* stream) const {
  const std::int64_t blocks = (p.m * p.n * p.batch_count - 1) / block_threads + 1;
  const GpuLaunch geometry{unsigned(std::min<std::int64_t>(blocks, most_blocks_)), block_threads, 0};
  dispatch(p.dtype, [&]<class T>() {
    GpuScaleArgs<T> args{static_cast<T*>(c),
                         p.m,
                         p.n,
                         p.batch_count,
                         p.ldc,
                         p.stride_c,
                         kind_.zero ? T(0) : *static_cast<const T*>(beta)};
    function_.launch(geometry, &args, stream);
  });
}

StencilRequest gpu_scale_request(const GpuScaleKind& kind, int compute_capability) {
  return {"kernel/scale/stencil.cuh",
          {fmt::format("tilewright::gpu_scale<{}, {}, {}>", device_type(kind.dtype), kind.zero, kind.packed)},
          "",
          compute_capability};
}

}  // namespace tilewright
