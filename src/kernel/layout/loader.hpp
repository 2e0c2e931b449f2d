// Conversions between layouts on the GPU: one loaded kernel for a type, a direction and a number of elements
// per matrix. bench measures their costs; layout/layout.hpp decides when they pay.
#pragma once

#include "core/problem.hpp"
#include "device/gpu/gpu.hpp"
#include "kernel/jit/stencil.hpp"

namespace tilewright {

// Operands of a conversion: addresses on the device; distances in elements.
struct GpuLayoutOperands {
  void* single = nullptr;            // matrices at one distance, or
  void* const* addresses = nullptr;  // each at its own; a null one is skipped
  void* interleaved = nullptr;
  std::int64_t count = 0;
  std::int64_t stride = 0, ld = 0, interleaved_ld = 0;
  std::int64_t block = 0;
  int rows = 0, columns = 0;
};

// The arguments of a launch, as in layout/stencil.cuh; element types do not matter.
struct GpuLayoutArgs {
  void* single;
  void* const* addresses;
  void* interleaved;
  long long count;
  long long stride, ld, interleaved_ld;
  long long block;
  int rows, columns;
};

// The problems and elements of the piece that a block of threads moves at a time.
struct GpuLayoutPiece {
  int problems = 32;
  int elements = 32;
  int threads = 256;
};
// Returns the piece for matrices of this many elements; small matrices are moved whole, many at a time.
GpuLayoutPiece gpu_layout_piece(int elements);
int gpu_layout_shared_bytes(const GpuLayoutPiece& piece, DType dtype);

// Converts single matrices to interleaved blocks if `interleaves`, else back.
StencilRequest gpu_layout_request(DType dtype, bool interleaves, const GpuLayoutPiece& piece,
                                  int compute_capability);
JitBinary compile_gpu_layout(const StencilCompiler& compiler, DType dtype, bool interleaves,
                             const GpuLayoutPiece& piece, int compute_capability);

class GpuLayoutKernel {
 public:
  GpuLayoutKernel(const Gpu& gpu, const JitBinary& binary, DType dtype, const GpuLayoutPiece& piece);

  // Never waits and never allocates.
  void launch(const GpuLayoutOperands& operands, CUstream_st* stream) const;

 private:
  const Gpu* gpu_;
  GpuLayoutPiece piece_;
  int shared_bytes_;
  GpuModule module_;
  GpuFunction function_;
  int blocks_per_multiprocessor_;
};

}  // namespace tilewright
