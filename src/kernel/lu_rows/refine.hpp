// The loaded kernels of iterative refinement in device memory, of one type. They validate nothing and wait
// for nothing.
#pragma once

#include "kernel/lu_rows/config.hpp"
#include "kernel/lu_rows/loader.hpp"

namespace tilewright {

class GpuLuRefine {
 public:
  GpuLuRefine(const Gpu& gpu, const StencilCompiler& compiler, DType dtype);
  // Returns the requests of its kernels: magnitudes, backward error, go on, improve.
  static std::vector<StencilRequest> requests(DType dtype, int capability);

  // Computes to = |from| in real numbers: for complex elements the sum of both parts' magnitudes.
  void magnitudes(const LuBlock& from, const LuBlock& to, std::int64_t rows, std::int64_t columns,
                  CUstream_st* stream) const;
  // Raises the current error of each active column to that of r (n x columns without gaps) over its bound.
  void backward_error(const void* r, const void* bound, std::int64_t n, std::int64_t columns,
                      LuRefined* progress, CUstream_st* stream) const;
  // Keeps the errors of active columns and decides which columns continue.
  void go_on(LuRefined* progress, double* errors, std::int64_t columns, CUstream_st* stream) const;
  // Computes x += r in the active columns.
  void improve(const void* r, const LuBlock& x, std::int64_t n, std::int64_t columns,
               const LuRefined* progress, CUstream_st* stream) const;

 private:
  unsigned blocks_for(std::int64_t rows, std::int64_t columns) const;

  const Gpu* gpu_;
  DType dtype_;
  std::vector<GpuModule> modules_;
  GpuFunction magnitudes_, backward_error_, go_on_, improve_;
};

}  // namespace tilewright
