// Conversions between layouts on the GPU: a loaded kernel for a type, a direction and a size of matrices.
#pragma once

#include "core/problem.hpp"
#include "device/gpu/gpu.hpp"
#include "kernel/jit/stencil.hpp"

namespace tilewright {

// Operands of a conversion on the device, and its launch's arguments (LayoutArgs); distances in elements.
struct GpuLayoutOperands {
  void* single = nullptr;            // matrices at one distance, or
  void* const* addresses = nullptr;  // each at its own; a null one is skipped
  void* interleaved = nullptr;
  std::int64_t count = 0;
  std::int64_t stored = 0;  // slots that interleaving fills; those beyond count become zero
  std::int64_t stride = 0, ld = 0, interleaved_ld = 0;
  std::int64_t block = 0;
  int rows = 0, columns = 0;
};

// The problems and elements of the piece that a block of threads moves at a time.
struct GpuLayoutPiece {
  int problems = 32;
  int elements = 32;
  int threads = 256;
};
// Returns the piece for matrices of this many elements; small matrices are moved whole, many at a time.
GpuLayoutPiece gpu_layout_piece(int elements);

// Returns the expected seconds of conversions that move so many elements, each read and written once.
double gpu_layout_forecast_s(DType dtype, double elements, const GpuLimits& limits);

// Converts single matrices to interleaved blocks if `interleaves`, else back.
StencilRequest gpu_layout_request(DType dtype, bool interleaves, const GpuLayoutPiece& piece,
                                  int compute_capability);

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
