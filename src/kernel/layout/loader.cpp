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

int gpu_layout_shared_bytes(const GpuLayoutPiece& piece, DType dtype) {
  return piece.problems * (piece.elements + 1) * static_cast<int>(size_bytes(dtype));
}

StencilRequest gpu_layout_request(DType dtype, bool interleaves, const GpuLayoutPiece& piece,
                                  int compute_capability) {
  const std::string expression =
      fmt::format("tilewright::layout_convert<{}, {}, {}, {}, {}>", device_type(dtype), interleaves,
                  piece.problems, piece.elements, piece.threads);
  const std::string assertion =
      fmt::format("sizeof(tilewright::LayoutArgs<float>) == {}", sizeof(GpuLayoutArgs));
  return {"kernel/layout/stencil.cuh", {expression}, assertion, compute_capability};
}

JitBinary compile_gpu_layout(const StencilCompiler& compiler, DType dtype, bool interleaves,
                             const GpuLayoutPiece& piece, int compute_capability) {
  return compiler.compile(gpu_layout_request(dtype, interleaves, piece, compute_capability));
}

GpuLayoutKernel::GpuLayoutKernel(const Gpu& gpu, const JitBinary& binary, DType dtype,
                                 const GpuLayoutPiece& piece)
    : gpu_(&gpu),
      piece_(piece),
      shared_bytes_(gpu_layout_shared_bytes(piece, dtype)),
      module_(gpu, binary.code),
      function_(module_.function(binary.function(), shared_bytes_)),
      blocks_per_multiprocessor_(function_.blocks_per_multiprocessor(piece.threads, shared_bytes_)) {}

void GpuLayoutKernel::launch(const GpuLayoutOperands& o, CUstream_st* stream) const {
  const std::int64_t pieces = ((o.count + piece_.problems - 1) / piece_.problems + 1) *
                              ((std::int64_t(o.rows) * o.columns + piece_.elements - 1) / piece_.elements);
  const std::int64_t resident =
      std::int64_t(gpu_->limits().multiprocessors) * std::max(1, blocks_per_multiprocessor_);
  GpuLaunch launch;
  launch.blocks = static_cast<unsigned>(std::max<std::int64_t>(1, std::min(pieces, resident)));
  launch.threads = static_cast<unsigned>(piece_.threads);
  launch.shared_bytes = static_cast<unsigned>(shared_bytes_);
  GpuLayoutArgs args{o.single, o.addresses,      o.interleaved, o.count, o.stride,
                     o.ld,     o.interleaved_ld, o.block,       o.rows,  o.columns};
  function_.launch(launch, &args, stream);
}

}  // namespace tilewright
