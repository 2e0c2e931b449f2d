// Copies of one operand's tiles from global to shared memory by the threads of a block: through registers or
// by cp.async, with or without edge checks, transposing if shared memory has rows side by side and k is
// contiguous.
#pragma once

#include "kernel/gemm_large/device.cuh"

namespace tilewright {

// A thread's share of an operand's tiles. Rows run along m (A) or n (B).
template <class T, GemmLargeConfig C, GemmLargeTile Tile, int Wanted>
struct GemmLargeCopy {
  static constexpr GemmLargeReading reading = gemm_large_reading(Tile, C, Wanted);
  static constexpr int accesses = reading.accesses();
  static constexpr int bytes = reading.vector * int(sizeof(T));
  static constexpr bool read_only = C.load == GemmLargeLoad::read_only;
  using P = Pack<T, reading.vector>;

  const T* from = nullptr;  // the thread's first element of the next tile
  long long ld = 0;
  long long advance = 0;  // elements from one k tile to the next
  int inner = 0;          // the thread's place in the tile, along the contiguous dimension and across
  int outer = 0;
  int rows_left = 0;  // of the operand in this tile, at most Tile.rows
  long long depth_left = 0;
  P held[C.load == GemmLargeLoad::async ? 1 : accesses];

  __device__ __forceinline__ void start(const T* operand, long long leading, long long row, long long rows,
                                        long long depth, long long depth_end) {
    inner = int(threadIdx.x) % reading.threads_inner * reading.vector;
    outer = int(threadIdx.x) / reading.threads_inner;
    ld = leading;
    const long long x = Tile.source_along_k ? depth : row, y = Tile.source_along_k ? row : depth;
    from = operand + (y + outer) * leading + x + inner;
    advance = Tile.source_along_k ? Tile.depth : Tile.depth * leading;
    rows_left = rows - row < Tile.rows ? int(rows - row) : Tile.rows;
    depth_left = depth_end - depth;
  }
  __device__ __forceinline__ bool is_whole() const {
    return rows_left >= Tile.rows && depth_left >= Tile.depth;
  }

  static constexpr __device__ int inner_step(int access) {
    return access % reading.inner_count * reading.threads_inner * reading.vector;
  }
  static constexpr __device__ int outer_step(int access) {
    return access / reading.inner_count * reading.threads_outer;
  }
  // Returns the elements of an access that exist.
  __device__ __forceinline__ int valid(int access) const {
    const int depth = depth_left < Tile.depth ? int(depth_left) : Tile.depth;
    const int in = (Tile.source_along_k ? depth : rows_left) - (inner + inner_step(access));
    const bool exists = outer + outer_step(access) < (Tile.source_along_k ? rows_left : depth);
    return !exists || in <= 0 ? 0 : in < reading.vector ? in : reading.vector;
  }
  __device__ __forceinline__ const T* source(int access) const {
    return from + outer_step(access) * ld + inner_step(access);
  }
  // Returns the byte offset in the stage of element `e` of an access.
  __device__ __forceinline__ int place(int access, int e) const {
    const int in = inner + inner_step(access) + e, out = outer + outer_step(access);
    return Tile.source_along_k ? Tile.offset(out, in) : Tile.offset(in, out);
  }

  // Starts one access, to the stage (async) or to registers.
  template <bool Checked>
  __device__ __forceinline__ void begin(unsigned char* stage, int access) {
    if constexpr (C.load == GemmLargeLoad::async) {
      unsigned char* to = stage + place(access, 0);
      if constexpr (Checked) {
        const int count = valid(access);
        copy_async_zero_fill<bytes>(to, source(access), count * int(sizeof(T)));
      } else {
        copy_async_whole<bytes>(to, source(access));
      }
    } else if constexpr (!Checked) {
      held[access] = read_global<read_only, P>(source(access));
    } else {
      const int count = valid(access);
      held[access] = P{};
      if (count == reading.vector)
        held[access] = read_global<read_only, P>(source(access));
      else
#pragma unroll
        for (int e = 0; e < reading.vector; ++e)
          if (e < count) held[access].item[e] = source(access)[e];
    }
  }
  // Stores registers to shared memory.
  __device__ __forceinline__ void end(unsigned char* stage) const {
    if constexpr (C.load == GemmLargeLoad::async) return;
#pragma unroll
    for (int access = 0; access < accesses; ++access) {
      if constexpr (Tile.source_along_k == Tile.along_k)
        *reinterpret_cast<P*>(stage + place(access, 0)) = held[access];
      else
#pragma unroll
        for (int e = 0; e < reading.vector; ++e)
          *reinterpret_cast<T*>(stage + place(access, e)) = held[access].item[e];
    }
  }
  __device__ __forceinline__ void turn() {
    from += advance;
    depth_left -= Tile.depth;
  }
};

}  // namespace tilewright
