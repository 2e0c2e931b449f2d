// Each kernel is compiled to a module of its own; the constructor loads them all.
#include "kernel/lu_rows/loader.hpp"

#include <algorithm>

#include "core/dispatch.hpp"
#include "kernel/lu_panel/config.hpp"
#include "kernel/lu_rows/config.hpp"

namespace tilewright {
namespace {

constexpr int lanes = 32;
constexpr int closer_heights[] = {32, 64, 128, 256, 512};

// Limit of the shared memory that closing a block may take.
int most_shared_bytes(const GpuLimits& limits) { return std::min(96 << 10, limits.shared_bytes_per_block); }

}  // namespace

GpuLuRows::GpuLuRows(const Gpu& gpu, const StencilCompiler& compiler, DType dtype, int width)
    : gpu_(&gpu), dtype_(dtype), width_(width) {
  const auto all = requests(dtype, width, gpu.limits().compute_capability);
  const auto load = [&](std::size_t i, int shared_bytes = 0) {
    const JitBinary binary = compiler.compile(all[i]);
    modules_.emplace_back(gpu, binary.code);
    return modules_.back().function(binary.function(), shared_bytes);
  };
  swap_ = load(0);
  solve_ = load(1, lu_solve_shared_bytes(static_cast<int>(size_bytes(dtype))));
  copy_ = load(2);
  move_ = load(3);
  for (std::size_t i = 0; i < std::size(closer_heights); ++i)
    closers_.emplace_back(closer_heights[i], load(4 + i, most_shared_bytes(gpu.limits())));
}

std::vector<StencilRequest> GpuLuRows::requests(DType dtype, int width, int capability) {
  const char* const type = device_type(dtype);
  std::vector<std::string> expressions{fmt::format("lu_swap<{}, {}>", type, 2 * width),
                                       fmt::format("lu_solve<{}, {}>", type, 2 * width),
                                       fmt::format("lu_copy<{}>", type), fmt::format("lu_move<{}>", type)};
  for (const int height : closer_heights)
    expressions.push_back(fmt::format("lu_close<{}, {}>", type, height / lanes));
  std::vector<StencilRequest> all;
  for (const std::string& expression : expressions)
    all.push_back({"kernel/lu_rows/stencil.cuh", {"tilewright::" + expression}, "", capability});
  return all;
}

unsigned GpuLuRows::blocks_for(std::int64_t units, std::int64_t per_block) const {
  constexpr std::int64_t per_multiprocessor = 8;
  return static_cast<unsigned>(std::clamp<std::int64_t>((units + per_block - 1) / per_block, 1,
                                                        gpu_->limits().multiprocessors * per_multiprocessor));
}

void GpuLuRows::swap(const LuBlock& a, std::int64_t columns, const LuMoves& moves,
                     CUstream_st* stream) const {
  if (columns == 0 || moves.count == 0) return;
  const GpuLaunch geometry{blocks_for(columns, lu_rows_threads / (2 * width_)), lu_rows_threads};
  dispatch(dtype_, [&]<class T>() {
    LuSwapArgs<T> args{static_cast<T*>(a.data),
                       a.ld,
                       columns,
                       moves.lists,
                       moves.count,
                       lu_moves_ints(width_),
                       moves.rows_apart,
                       moves.of_own_block};
    swap_.launch(geometry, &args, stream);
  });
}

void GpuLuRows::solve(const LuBlock& b, std::int64_t columns, const LuBlock& l, int n, const int* moves,
                      CUstream_st* stream) const {
  if (columns == 0) return;
  const GpuLaunch geometry{
      blocks_for(columns, lu_rows_threads / lanes), lu_rows_threads,
      static_cast<unsigned>(lu_solve_shared_bytes(static_cast<int>(size_bytes(dtype_))))};
  dispatch(dtype_, [&]<class T>() {
    LuSolveArgs<T> args{
        static_cast<T*>(b.data), b.ld, columns, static_cast<const T*>(l.data), l.ld, n, moves};
    solve_.launch(geometry, &args, stream);
  });
}

std::int64_t GpuLuRows::origin_ints(std::int64_t rows, const GpuLimits& limits) {
  return rows * 4 <= most_shared_bytes(limits) ? 0 : rows;
}

const GpuFunction& GpuLuRows::closer(int n) const {
  for (const auto& [height, function] : closers_)
    if (height >= n) return function;
  throw Error(ErrorCode::internal, "n", fmt::format("n = {} is above {}", n, most_inverted));
}

void GpuLuRows::close(const LuBlock& l, int n, std::int64_t rows, const LuMoves& moves, void* inverse,
                      int* merged, int* origin, CUstream_st* stream) const {
  const int warps = lu_rows_threads / lanes;
  const bool has_room = origin_ints(rows, gpu_->limits()) == 0;
  const int bytes = std::max(lu_triangle_bytes(n, static_cast<int>(size_bytes(dtype_))),
                             has_room ? lu_origin_bytes(static_cast<int>(rows)) : 0);
  const GpuLaunch geometry{static_cast<unsigned>((n + warps - 1) / warps + 1), lu_rows_threads,
                           static_cast<unsigned>(bytes)};
  dispatch(dtype_, [&]<class T>() {
    LuCloseArgs<T> args{static_cast<const T*>(l.data),
                        l.ld,
                        static_cast<T*>(inverse),
                        n,
                        static_cast<int>(rows),
                        moves.lists,
                        moves.count,
                        lu_moves_ints(width_),
                        moves.rows_apart,
                        merged,
                        has_room ? nullptr : origin};
    closer(n).launch(geometry, &args, stream);
  });
}

void GpuLuRows::move(const LuBlock& a, std::int64_t columns, const int* merged, CUstream_st* stream) const {
  if (columns == 0) return;
  const GpuLaunch geometry{blocks_for(columns, 1), lu_rows_threads};
  dispatch(dtype_, [&]<class T>() {
    LuMoveArgs<T> args{static_cast<T*>(a.data), a.ld, columns, merged};
    move_.launch(geometry, &args, stream);
  });
}

void GpuLuRows::copy(const LuBlock& from, const LuBlock& to, std::int64_t rows, std::int64_t columns,
                     CUstream_st* stream) const {
  if (rows == 0 || columns == 0) return;
  const std::int64_t runs = (rows + lu_rows_threads - 1) / lu_rows_threads;
  const GpuLaunch geometry{blocks_for(runs * columns, lu_copied_columns), lu_rows_threads};
  dispatch(dtype_, [&]<class T>() {
    LuCopyArgs<T> args{
        static_cast<const T*>(from.data), from.ld, static_cast<T*>(to.data), to.ld, rows, columns};
    copy_.launch(geometry, &args, stream);
  });
}

}  // namespace tilewright
