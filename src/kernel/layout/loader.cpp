// Compiles, loads and launches conversions.
#include "kernel/layout/loader.hpp"

#include <algorithm>

namespace tilewright {

GpuLayoutPiece gpu_layout_piece(int elements) {
  GpuLayoutPiece piece;
  while (piece.elements > 4 && piece.elements / 2 >= elements) piece.elements /= 2;
  piece.problems = 1024 / piece.elements;
  return piece;
}

// Small elements are bound by the instructions that place them, large ones by memory (H200: 91 to 110
// elements per ns whatever their size, `bench layout --location device`).
double gpu_layout_forecast_s(DType dtype, double elements, const GpuLimits& limits) {
  constexpr double cycles_per_element = 2.6, memory_share = 0.8;
  const double memory_s = 2 * elements * size_bytes(dtype) / (memory_share * limits.memory_bytes_per_s);
  const double place_s = cycles_per_element * elements / (1e3 * limits.clock_khz * limits.multiprocessors);
  return std::max(limits.memory_bytes_per_s > 0 ? memory_s : 0, place_s);
}

StencilRequest gpu_layout_request(DType dtype, bool interleaves, const GpuLayoutPiece& piece,
                                  int compute_capability) {
  const std::string expression =
      fmt::format("tilewright::layout_convert<{}, {}, {}, {}, {}>", device_type(dtype), interleaves,
                  piece.problems, piece.elements, piece.threads);
  const std::string assertion =
      fmt::format("sizeof(tilewright::LayoutArgs<float>) == {}", sizeof(GpuLayoutOperands));
  return {"kernel/layout/stencil.cuh", {expression}, assertion, compute_capability};
}

GpuLayoutKernel::GpuLayoutKernel(const Gpu& gpu, const JitBinary& binary, DType dtype,
                                 const GpuLayoutPiece& piece)
    : gpu_(&gpu),
      piece_(piece),
      shared_bytes_(piece.problems * (piece.elements + 1) * int(size_bytes(dtype))),
      module_(gpu, binary.code),
      function_(module_.function(binary.function(), shared_bytes_)),
      blocks_per_multiprocessor_(function_.blocks_per_multiprocessor(piece.threads, shared_bytes_)) {}

void GpuLayoutKernel::launch(const GpuLayoutOperands& o, CUstream_st* stream) const {
  const std::int64_t pieces = ((std::max(o.stored, o.count) + piece_.problems - 1) / piece_.problems) *
                              ((std::int64_t(o.rows) * o.columns + piece_.elements - 1) / piece_.elements);
  const std::int64_t resident =
      std::int64_t(gpu_->limits().multiprocessors) * std::max(1, blocks_per_multiprocessor_);
  const GpuLaunch launch{unsigned(std::max<std::int64_t>(1, std::min(pieces, resident))),
                         unsigned(piece_.threads), unsigned(shared_bytes_)};
  GpuLayoutOperands args = o;
  args.stored = std::max(o.stored, o.count);
  function_.launch(launch, &args, stream);
}

}  // namespace tilewright
