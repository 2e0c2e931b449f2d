// Compiles, loads and launches the kernels of iterative refinement.
#include "kernel/lu_rows/refine.hpp"

#include <algorithm>
#include <limits>

#include "core/dispatch.hpp"

namespace tilewright {
namespace {

template <class T>
using RealPart = decltype(std::abs(T()));

constexpr int worst_bytes = 8;  // of shared memory: the largest error of a block

constexpr std::int64_t runs_of(std::int64_t rows) { return (rows + lu_rows_threads - 1) / lu_rows_threads; }

}  // namespace

GpuLuRefine::GpuLuRefine(const Gpu& gpu, const StencilCompiler& compiler, DType dtype)
    : gpu_(&gpu), dtype_(dtype) {
  GpuFunction* const functions[]{&magnitudes_, &backward_error_, &go_on_, &improve_};
  const auto all = requests(dtype, gpu.limits().compute_capability);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const JitBinary binary = compiler.compile(all[i]);
    modules_.emplace_back(gpu, binary.code);
    *functions[i] = modules_.back().function(binary.function(), worst_bytes);
  }
}

std::vector<StencilRequest> GpuLuRefine::requests(DType dtype, int capability) {
  const char* const type = device_type(dtype);
  const char* const real = device_type(dtype == DType::f32 || dtype == DType::c64 ? DType::f32 : DType::f64);
  std::vector<StencilRequest> all;
  for (const std::string& expression :
       {fmt::format("lu_magnitudes<{}, {}>", type, real),
        fmt::format("lu_backward_error<{}, {}>", type, real), fmt::format("lu_go_on<{}>", type),
        fmt::format("lu_improve<{}>", type)})
    all.push_back({"kernel/lu_rows/refine.cuh", {"tilewright::" + expression}, "", capability});
  return all;
}

unsigned GpuLuRefine::blocks_for(std::int64_t rows, std::int64_t columns) const {
  constexpr std::int64_t per_multiprocessor = 8;
  return static_cast<unsigned>(std::clamp<std::int64_t>(runs_of(rows) * columns, 1,
                                                        gpu_->limits().multiprocessors * per_multiprocessor));
}

void GpuLuRefine::magnitudes(const LuBlock& from, const LuBlock& to, std::int64_t rows, std::int64_t columns,
                             CUstream_st* stream) const {
  const GpuLaunch geometry{blocks_for(rows, columns), lu_rows_threads};
  dispatch(dtype_, [&]<class T>() {
    using R = RealPart<T>;
    LuMagnitudesArgs<T, R> args{
        static_cast<const T*>(from.data), from.ld, static_cast<R*>(to.data), to.ld, rows, columns};
    magnitudes_.launch(geometry, &args, stream);
  });
}

void GpuLuRefine::backward_error(const void* r, const void* bound, std::int64_t n, std::int64_t columns,
                                 LuRefined* progress, CUstream_st* stream) const {
  const GpuLaunch geometry{blocks_for(n, columns), lu_rows_threads, worst_bytes};
  dispatch(dtype_, [&]<class T>() {
    using R = RealPart<T>;
    const R eps = std::numeric_limits<R>::epsilon() / 2;
    const R safe1 = R(n + 1) * std::numeric_limits<R>::min();
    LuBackwardErrorArgs<T, R> args{static_cast<const T*>(r),
                                   static_cast<const R*>(bound),
                                   static_cast<int>(n),
                                   columns,
                                   progress,
                                   safe1,
                                   safe1 / eps};
    backward_error_.launch(geometry, &args, stream);
  });
}

void GpuLuRefine::go_on(LuRefined* progress, double* errors, std::int64_t columns,
                        CUstream_st* stream) const {
  const GpuLaunch geometry{static_cast<unsigned>(runs_of(columns)), lu_rows_threads};
  double eps = 0;
  dispatch(dtype_, [&]<class T>() { eps = double(std::numeric_limits<RealPart<T>>::epsilon()) / 2; });
  LuGoOnArgs args{progress, errors, columns, eps};
  go_on_.launch(geometry, &args, stream);
}

void GpuLuRefine::improve(const void* r, const LuBlock& x, std::int64_t n, std::int64_t columns,
                          const LuRefined* progress, CUstream_st* stream) const {
  const GpuLaunch geometry{blocks_for(n, columns), lu_rows_threads};
  dispatch(dtype_, [&]<class T>() {
    LuImproveArgs<T> args{
        static_cast<const T*>(r), static_cast<T*>(x.data), x.ld, static_cast<int>(n), columns, progress};
    improve_.launch(geometry, &args, stream);
  });
}

}  // namespace tilewright
