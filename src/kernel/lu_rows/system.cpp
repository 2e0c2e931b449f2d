// Compiles, loads and launches the kernels of systems.
#include "kernel/lu_rows/system.hpp"

#include <algorithm>

#include "core/dispatch.hpp"
#include "kernel/lu_rows/config.hpp"

namespace tilewright {
namespace {

int order_bytes(std::int64_t ints) { return static_cast<int>((ints + lu_rows_threads) * 4); }

}  // namespace

GpuLuSystem::GpuLuSystem(const Gpu& gpu, const StencilCompiler& compiler, DType dtype)
    : gpu_(&gpu), dtype_(dtype), most_order_bytes_(gpu.limits().shared_bytes_per_block) {
  const std::pair<GpuFunction*, int> functions[]{
      {&order_, most_order_bytes_},
      {&take_, 0},
      {&invert_, lu_triangle_bytes(most_inverted, static_cast<int>(size_bytes(dtype)))},
      {&divide_, 16}};
  const auto all = requests(dtype, gpu.limits().compute_capability);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto& [function, shared_bytes] = functions[i];
    const JitBinary binary = compiler.compile(all[i]);
    modules_.emplace_back(gpu, binary.code);
    *function = modules_.back().function(binary.function(), shared_bytes);
  }
}

std::vector<StencilRequest> GpuLuSystem::requests(DType dtype, int capability) {
  const char* const type = device_type(dtype);
  std::vector<StencilRequest> all;
  for (const std::string& expression : {fmt::format("lu_order<{}>", type), fmt::format("lu_take<{}>", type),
                                        fmt::format("lu_invert_diagonal<{}, {}>", type, most_inverted / 32),
                                        fmt::format("lu_divide<{}>", type)})
    all.push_back({"kernel/lu_rows/system.cuh", {"tilewright::" + expression}, "", capability});
  return all;
}

void GpuLuSystem::order(const long long* pivots, std::int64_t n, int* order, CUstream_st* stream) const {
  const bool in_shared = (n + lu_rows_threads) * 4 <= most_order_bytes_;
  const GpuLaunch geometry{1, lu_rows_threads, static_cast<unsigned>(order_bytes(in_shared ? n : 0))};
  LuOrderArgs args{pivots, static_cast<int>(n), order, in_shared};
  order_.launch(geometry, &args, stream);
}

void GpuLuSystem::take(const LuBlock& from, const LuBlock& to, std::int64_t n, std::int64_t columns,
                       const int* order, bool back, CUstream_st* stream) const {
  const std::int64_t runs = (n + lu_rows_threads - 1) / lu_rows_threads * columns;
  const GpuLaunch geometry{
      static_cast<unsigned>(std::clamp<std::int64_t>(runs, 1, gpu_->limits().multiprocessors * 8)),
      lu_rows_threads};
  dispatch(dtype_, [&]<class T>() {
    LuTakeArgs<T> args{static_cast<const T*>(from.data),
                       from.ld,
                       static_cast<T*>(to.data),
                       to.ld,
                       columns,
                       order,
                       static_cast<int>(n),
                       back};
    take_.launch(geometry, &args, stream);
  });
}

void GpuLuSystem::invert(const LuBlock& lu, std::int64_t n, std::int64_t nb, void* inverses, int* must_divide,
                         CUstream_st* stream) const {
  const std::int64_t blocks = (n + nb - 1) / nb, groups = lu_inverse_groups(static_cast<int>(nb));
  const GpuLaunch geometry{
      static_cast<unsigned>(2 * blocks * groups), lu_rows_threads,
      static_cast<unsigned>(lu_triangle_bytes(most_inverted, static_cast<int>(size_bytes(dtype_))))};
  dispatch(dtype_, [&]<class T>() {
    LuInvertArgs<T> args{
        static_cast<const T*>(lu.data), lu.ld,      static_cast<int>(n), static_cast<int>(nb),
        static_cast<T*>(inverses),      must_divide};
    invert_.launch(geometry, &args, stream);
  });
}

void GpuLuSystem::divide(Op op, const LuBlock& u, std::int64_t n, std::int64_t columns, const LuBlock& b,
                         const LuBlock& x, const int* must_divide, std::int64_t nb,
                         CUstream_st* stream) const {
  const GpuLaunch geometry{
      static_cast<unsigned>(std::clamp<std::int64_t>(columns, 1, gpu_->limits().multiprocessors * 4)),
      lu_rows_threads, 16};
  dispatch(dtype_, [&]<class T>() {
    LuDivideArgs<T> args{static_cast<const T*>(u.data),
                         u.ld,
                         static_cast<const T*>(b.data),
                         b.ld,
                         static_cast<T*>(x.data),
                         x.ld,
                         columns,
                         static_cast<int>(n),
                         static_cast<int>(op),
                         lu_inverse_groups(static_cast<int>(nb)),
                         must_divide};
    divide_.launch(geometry, &args, stream);
  });
}

}  // namespace tilewright
