// The loaded kernels of LU beside the panel, of one type: steps of a factorization, systems, and refinement.
// They check nothing and never wait.
#pragma once

#include "device/gpu/gpu.hpp"
#include "kernel/jit/stencil.hpp"
#include "kernel/lu_rows/config.hpp"

namespace tilewright {

// A part of a matrix in device memory.
struct LuBlock {
  void* data = nullptr;
  std::int64_t ld = 0;
};

// Lists of moves as LU panels write them, one after the other.
struct LuMoves {
  const int* lists = nullptr;
  int count = 0;
  int rows_apart = 0;  // rows between the first rows of consecutive panels
  // True if the columns are those of the panels themselves: each gets the moves of later panels.
  bool of_own_block = false;
};

// Loads kernels and sizes their launches.
class LuKernels {
 protected:
  LuKernels(const Gpu& gpu, DType dtype) : gpu_(&gpu), dtype_(dtype) {}
  // Compiles and loads the kernel; launches get at most `shared_bytes`.
  GpuFunction load(const StencilCompiler& compiler, const StencilRequest& request, int shared_bytes = 0);
  // Returns the blocks of a launch for `units` of work, of which a block takes `per_block` at a time.
  unsigned blocks_for(std::int64_t units, std::int64_t per_block = 1, int per_multiprocessor = 8) const;
  int element_bytes() const { return int(size_bytes(dtype_)); }

  const Gpu* gpu_;
  DType dtype_;
  std::vector<GpuModule> modules_;
};

class GpuLuRows : LuKernels {
 public:
  // `width` is that of the panels; their triangles are at most as large.
  GpuLuRows(const Gpu& gpu, const StencilCompiler& compiler, DType dtype, int width);
  // Returns the requests: swap, solve, copy, move.
  static std::vector<StencilRequest> requests(DType dtype, int width, int capability);

  void swap(const LuBlock& a, std::int64_t columns, const LuMoves& moves, CUstream_st* stream) const;
  // Computes B = inv(L) P B with L of n x n; without moves P is the identity.
  void solve(const LuBlock& b, std::int64_t columns, const LuBlock& l, int n, const int* moves,
             CUstream_st* stream) const;
  void move(const LuBlock& a, std::int64_t columns, const int* merged, CUstream_st* stream) const;
  void copy(const LuBlock& from, const LuBlock& to, std::int64_t rows, std::int64_t columns,
            CUstream_st* stream) const;

 private:
  int width_;
  GpuFunction swap_, solve_, copy_, move_;
};

// The kernel that closes blocks of at most so many columns. It takes long to compile: seconds for 512.
class GpuLuCloser : LuKernels {
 public:
  // `n` is that of the blocks, at most most_inverted; `width` that of their panels.
  GpuLuCloser(const Gpu& gpu, const StencilCompiler& compiler, DType dtype, int width, int n);
  static StencilRequest request(DType dtype, int n, int capability);

  // Closes a block of panels: inverts its n x n triangle, n at most most_inverted, and merges its moves into
  // one list of merged_ints(n). `rows` remain of the matrix. `origin` is scratch of origin_ints().
  void close(const LuBlock& l, int n, std::int64_t rows, const LuMoves& moves, void* inverse, int* merged,
             int* origin, CUstream_st* stream) const;
  static constexpr int most_inverted = 512;
  static std::int64_t origin_ints(std::int64_t rows, const GpuLimits& limits);
  static constexpr std::int64_t merged_ints(std::int64_t n) { return 2 + 4 * n; }

 private:
  int width_;
  GpuFunction close_;
};

class GpuLuSystem : LuKernels {
 public:
  GpuLuSystem(const Gpu& gpu, const StencilCompiler& compiler, DType dtype);
  // Returns the requests: order, take, invert, divide.
  static std::vector<StencilRequest> requests(DType dtype, int capability);

  // Fills order[i] with the row that the swaps bring to row i, for n <= 2^31 - 1.
  void order(const long long* pivots, std::int64_t n, int* order, CUstream_st* stream) const;
  // Copies row order[i] of `from` to row i of `to`, or with `back` the reverse.
  void take(const LuBlock& from, const LuBlock& to, std::int64_t n, std::int64_t columns, const int* order,
            bool back, CUstream_st* stream) const;
  // Inverts the diagonal blocks of nb, at most most_inverted: those of L, then of U. must_divide receives
  // divide()'s input, lu_inverse_groups(nb) numbers for each block of U.
  void invert(const LuBlock& lu, std::int64_t n, std::int64_t nb, void* inverses, int* must_divide,
              CUstream_st* stream) const;
  // Computes x = inv(op(U)) b by division if products with the inverse are too inaccurate; else does nothing.
  void divide(Op op, const LuBlock& u, std::int64_t n, std::int64_t columns, const LuBlock& b,
              const LuBlock& x, const int* must_divide, std::int64_t nb, CUstream_st* stream) const;
  static constexpr int most_inverted = 256;

 private:
  GpuFunction order_, take_, invert_, divide_;
};

class GpuLuRefine : LuKernels {
 public:
  GpuLuRefine(const Gpu& gpu, const StencilCompiler& compiler, DType dtype);
  // Returns the requests: magnitudes, backward error, go on, improve.
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
  GpuFunction magnitudes_, backward_error_, go_on_, improve_;
};

}  // namespace tilewright
