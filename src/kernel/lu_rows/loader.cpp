// Loads and launches LU's kernels beside the panel. Arguments of void have the layout of every type's.
#include "kernel/lu_rows/loader.hpp"

#include <algorithm>
#include <limits>

#include "core/dispatch.hpp"
#include "kernel/lu_panel/config.hpp"

namespace tilewright {
namespace {

constexpr int lanes = 32;
constexpr const char* rows_header = "kernel/lu_rows/stencil.cuh";
constexpr int reduced_bytes = 16;  // of shared memory, for a number of the whole block

template <class T>
using RealOf = decltype(std::abs(T()));

// Limit of the shared memory that closing a block may take.
int most_shared_bytes(const GpuLimits& limits) { return std::min(96 << 10, limits.shared_bytes_per_block); }

std::int64_t runs_of(std::int64_t rows) { return (rows + lu_rows_threads - 1) / lu_rows_threads; }

std::vector<StencilRequest> requests_of(const char* header, const std::vector<std::string>& expressions,
                                        int capability) {
  std::vector<StencilRequest> all;
  for (const std::string& expression : expressions)
    all.push_back({header, {"tilewright::" + expression}, "", capability});
  return all;
}

}  // namespace

GpuFunction LuKernels::load(const StencilCompiler& compiler, const StencilRequest& request,
                            int shared_bytes) {
  const JitBinary binary = compiler.compile(request);
  modules_.emplace_back(*gpu_, binary.code);
  return modules_.back().function(binary.function(), shared_bytes);
}

unsigned LuKernels::blocks_for(std::int64_t units, std::int64_t per_block, int per_multiprocessor) const {
  const std::int64_t most = std::int64_t(gpu_->limits().multiprocessors) * per_multiprocessor;
  return unsigned(std::clamp<std::int64_t>((units + per_block - 1) / per_block, 1, most));
}

GpuLuRows::GpuLuRows(const Gpu& gpu, const StencilCompiler& compiler, DType dtype, int width)
    : LuKernels(gpu, dtype), width_(width) {
  const auto all = requests(dtype, width, gpu.limits().compute_capability);
  swap_ = load(compiler, all[0]);
  solve_ = load(compiler, all[1], lu_solve_shared_bytes(element_bytes()));
  copy_ = load(compiler, all[2]);
  move_ = load(compiler, all[3]);
}

std::vector<StencilRequest> GpuLuRows::requests(DType dtype, int width, int capability) {
  const char* const type = device_type(dtype);
  return requests_of(
      rows_header,
      {fmt::format("lu_swap<{}, {}>", type, 2 * width), fmt::format("lu_solve<{}, {}>", type, 2 * width),
       fmt::format("lu_copy<{}>", type), fmt::format("lu_move<{}>", type)},
      capability);
}

void GpuLuRows::swap(const LuBlock& a, std::int64_t columns, const LuMoves& moves,
                     CUstream_st* stream) const {
  if (columns == 0 || moves.count == 0) return;
  const GpuLaunch geometry{blocks_for(columns, lu_rows_threads / (2 * width_)), lu_rows_threads};
  LuSwapArgs<void> args{a.data,           a.ld,
                        columns,          moves.lists,
                        moves.count,      lu_moves_ints(width_),
                        moves.rows_apart, moves.of_own_block};
  swap_.launch(geometry, &args, stream);
}

void GpuLuRows::solve(const LuBlock& b, std::int64_t columns, const LuBlock& l, int n, const int* moves,
                      CUstream_st* stream) const {
  if (columns == 0) return;
  const GpuLaunch geometry{blocks_for(columns, lu_rows_threads / lanes), lu_rows_threads,
                           unsigned(lu_solve_shared_bytes(element_bytes()))};
  LuSolveArgs<void> args{b.data, b.ld, columns, l.data, l.ld, n, moves};
  solve_.launch(geometry, &args, stream);
}

void GpuLuRows::move(const LuBlock& a, std::int64_t columns, const int* merged, CUstream_st* stream) const {
  if (columns == 0) return;
  LuMoveArgs<void> args{a.data, a.ld, columns, merged};
  move_.launch({blocks_for(columns), lu_rows_threads}, &args, stream);
}

void GpuLuRows::copy(const LuBlock& from, const LuBlock& to, std::int64_t rows, std::int64_t columns,
                     CUstream_st* stream) const {
  if (rows == 0 || columns == 0) return;
  const GpuLaunch geometry{blocks_for(runs_of(rows) * columns, lu_copied_columns), lu_rows_threads};
  LuCopyArgs<void> args{from.data, from.ld, to.data, to.ld, rows, columns};
  copy_.launch(geometry, &args, stream);
}

GpuLuCloser::GpuLuCloser(const Gpu& gpu, const StencilCompiler& compiler, DType dtype, int width, int n)
    : LuKernels(gpu, dtype), width_(width) {
  close_ =
      load(compiler, request(dtype, n, gpu.limits().compute_capability), most_shared_bytes(gpu.limits()));
}

StencilRequest GpuLuCloser::request(DType dtype, int n, int capability) {
  const std::string expression =
      fmt::format("lu_close<{}, {}>", device_type(dtype), lu_close_height(n) / lanes);
  return requests_of(rows_header, {expression}, capability).front();
}

std::int64_t GpuLuCloser::origin_ints(std::int64_t rows, const GpuLimits& limits) {
  return rows * 4 <= most_shared_bytes(limits) ? 0 : rows;
}

void GpuLuCloser::close(const LuBlock& l, int n, std::int64_t rows, const LuMoves& moves, void* inverse,
                        int* merged, int* origin, CUstream_st* stream) const {
  const int warps = lu_rows_threads / lanes;
  const bool has_room = origin_ints(rows, gpu_->limits()) == 0;
  const int bytes =
      std::max(lu_triangle_bytes(n, element_bytes()), has_room ? lu_origin_bytes(int(rows)) : 0);
  const GpuLaunch geometry{unsigned((n + warps - 1) / warps + 1), lu_rows_threads, unsigned(bytes)};
  LuCloseArgs<void> args{l.data,
                         l.ld,
                         inverse,
                         n,
                         int(rows),
                         moves.lists,
                         moves.count,
                         lu_moves_ints(width_),
                         moves.rows_apart,
                         merged,
                         has_room ? nullptr : origin};
  close_.launch(geometry, &args, stream);
}

GpuLuSystem::GpuLuSystem(const Gpu& gpu, const StencilCompiler& compiler, DType dtype)
    : LuKernels(gpu, dtype) {
  const auto all = requests(dtype, gpu.limits().compute_capability);
  order_ = load(compiler, all[0], gpu.limits().shared_bytes_per_block);
  take_ = load(compiler, all[1]);
  invert_ = load(compiler, all[2], lu_triangle_bytes(most_inverted, element_bytes()));
  divide_ = load(compiler, all[3], reduced_bytes);
}

std::vector<StencilRequest> GpuLuSystem::requests(DType dtype, int capability) {
  const char* const type = device_type(dtype);
  return requests_of("kernel/lu_rows/system.cuh",
                     {fmt::format("lu_order<{}>", type), fmt::format("lu_take<{}>", type),
                      fmt::format("lu_invert_diagonal<{}, {}>", type, most_inverted / lanes),
                      fmt::format("lu_divide<{}>", type)},
                     capability);
}

void GpuLuSystem::order(const long long* pivots, std::int64_t n, int* order, CUstream_st* stream) const {
  const bool in_shared = (n + lu_rows_threads) * 4 <= gpu_->limits().shared_bytes_per_block;
  const std::int64_t bytes = ((in_shared ? n : 0) + lu_rows_threads) * 4;
  LuOrderArgs args{pivots, int(n), order, in_shared};
  order_.launch({1, lu_rows_threads, unsigned(bytes)}, &args, stream);
}

void GpuLuSystem::take(const LuBlock& from, const LuBlock& to, std::int64_t n, std::int64_t columns,
                       const int* order, bool back, CUstream_st* stream) const {
  const GpuLaunch geometry{blocks_for(runs_of(n) * columns), lu_rows_threads};
  LuTakeArgs<void> args{from.data, from.ld, to.data, to.ld, columns, order, int(n), back};
  take_.launch(geometry, &args, stream);
}

void GpuLuSystem::invert(const LuBlock& lu, std::int64_t n, std::int64_t nb, void* inverses, int* must_divide,
                         CUstream_st* stream) const {
  const std::int64_t blocks = (n + nb - 1) / nb, groups = lu_inverse_groups(int(nb));
  const GpuLaunch geometry{unsigned(2 * blocks * groups), lu_rows_threads,
                           unsigned(lu_triangle_bytes(most_inverted, element_bytes()))};
  LuInvertArgs<void> args{lu.data, lu.ld, int(n), int(nb), inverses, must_divide};
  invert_.launch(geometry, &args, stream);
}

void GpuLuSystem::divide(Op op, const LuBlock& u, std::int64_t n, std::int64_t columns, const LuBlock& b,
                         const LuBlock& x, const int* must_divide, std::int64_t nb,
                         CUstream_st* stream) const {
  const GpuLaunch geometry{blocks_for(columns, 1, 4), lu_rows_threads, reduced_bytes};
  LuDivideArgs<void> args{u.data,     u.ld,    b.data, b.ld,    x.data,
                          x.ld,       columns, int(n), int(op), lu_inverse_groups(int(nb)),
                          must_divide};
  divide_.launch(geometry, &args, stream);
}

GpuLuRefine::GpuLuRefine(const Gpu& gpu, const StencilCompiler& compiler, DType dtype)
    : LuKernels(gpu, dtype) {
  GpuFunction* const functions[]{&magnitudes_, &backward_error_, &go_on_, &improve_};
  const auto all = requests(dtype, gpu.limits().compute_capability);
  for (std::size_t i = 0; i < all.size(); ++i) *functions[i] = load(compiler, all[i], reduced_bytes);
}

std::vector<StencilRequest> GpuLuRefine::requests(DType dtype, int capability) {
  const char* const type = device_type(dtype);
  const char* const real = device_type(dtype == DType::f32 || dtype == DType::c64 ? DType::f32 : DType::f64);
  return requests_of(
      "kernel/lu_rows/refine.cuh",
      {fmt::format("lu_magnitudes<{}, {}>", type, real), fmt::format("lu_backward_error<{}, {}>", type, real),
       fmt::format("lu_go_on<{}>", type), fmt::format("lu_improve<{}>", type)},
      capability);
}

void GpuLuRefine::magnitudes(const LuBlock& from, const LuBlock& to, std::int64_t rows, std::int64_t columns,
                             CUstream_st* stream) const {
  const GpuLaunch geometry{blocks_for(runs_of(rows) * columns), lu_rows_threads};
  LuMagnitudesArgs<void, void> args{from.data, from.ld, to.data, to.ld, rows, columns};
  magnitudes_.launch(geometry, &args, stream);
}

void GpuLuRefine::backward_error(const void* r, const void* bound, std::int64_t n, std::int64_t columns,
                                 LuRefined* progress, CUstream_st* stream) const {
  const GpuLaunch geometry{blocks_for(runs_of(n) * columns), lu_rows_threads, reduced_bytes};
  dispatch(dtype_, [&]<class T>() {
    using R = RealOf<T>;
    const R eps = std::numeric_limits<R>::epsilon() / 2;
    const R safe1 = R(n + 1) * std::numeric_limits<R>::min();
    LuBackwardErrorArgs<T, R> args{static_cast<const T*>(r),
                                   static_cast<const R*>(bound),
                                   int(n),
                                   columns,
                                   progress,
                                   safe1,
                                   safe1 / eps};
    backward_error_.launch(geometry, &args, stream);
  });
}

void GpuLuRefine::go_on(LuRefined* progress, double* errors, std::int64_t columns,
                        CUstream_st* stream) const {
  double eps = 0;
  dispatch(dtype_, [&]<class T>() { eps = double(std::numeric_limits<RealOf<T>>::epsilon()) / 2; });
  LuGoOnArgs args{progress, errors, columns, eps};
  go_on_.launch({unsigned(runs_of(columns)), lu_rows_threads}, &args, stream);
}

void GpuLuRefine::improve(const void* r, const LuBlock& x, std::int64_t n, std::int64_t columns,
                          const LuRefined* progress, CUstream_st* stream) const {
  const GpuLaunch geometry{blocks_for(runs_of(n) * columns), lu_rows_threads};
  LuImproveArgs<void> args{r, x.data, x.ld, int(n), columns, progress};
  improve_.launch(geometry, &args, stream);
}

}  // namespace tilewright
