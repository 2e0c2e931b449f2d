// The loaded kernels beside the LU panel, for one type and one width of panels. They validate nothing, and
// launching waits for nothing.
#pragma once

#include "device/gpu/gpu.hpp"
#include "kernel/jit/stencil.hpp"

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

class GpuLuRows {
 public:
  // `width` is that of the panels; their triangles are at most as large.
  GpuLuRows(const Gpu& gpu, const StencilCompiler& compiler, DType dtype, int width);
  // Returns the requests of its kernels: swap, solve, copy, move, and the kernels that close blocks of each
  // height.
  static std::vector<StencilRequest> requests(DType dtype, int width, int capability);

  void swap(const LuBlock& a, std::int64_t columns, const LuMoves& moves, CUstream_st* stream) const;
  // Computes B = inv(L) P B with L of n x n; without moves P is the identity.
  void solve(const LuBlock& b, std::int64_t columns, const LuBlock& l, int n, const int* moves,
             CUstream_st* stream) const;
  // Closes a block of panels: computes the n x n inverse of its triangle, n at most most_inverted, and merges
  // its lists of moves into one of merged_ints(n). `rows` are all remaining rows of the matrix. `origin` is
  // scratch of origin_ints().
  void close(const LuBlock& l, int n, std::int64_t rows, const LuMoves& moves, void* inverse, int* merged,
             int* origin, CUstream_st* stream) const;
  static constexpr int most_inverted = 512;
  static std::int64_t origin_ints(std::int64_t rows, const GpuLimits& limits);
  static constexpr std::int64_t merged_ints(std::int64_t n) { return 2 + 4 * n; }
  void move(const LuBlock& a, std::int64_t columns, const int* merged, CUstream_st* stream) const;
  void copy(const LuBlock& from, const LuBlock& to, std::int64_t rows, std::int64_t columns,
            CUstream_st* stream) const;

 private:
  const GpuFunction& closer(int n) const;
  unsigned blocks_for(std::int64_t units, std::int64_t per_block) const;

  const Gpu* gpu_;
  DType dtype_;
  int width_;
  std::vector<GpuModule> modules_;
  GpuFunction swap_, solve_, copy_, move_;
  std::vector<std::pair<int, GpuFunction>> closers_;  // sorted by their largest number of rows
};

}  // namespace tilewright
