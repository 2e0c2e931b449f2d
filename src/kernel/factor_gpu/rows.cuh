// Rows of a matrix in the registers of a group of lanes, as factorizations see them: lane l holds rows l, l +
// lanes and so on, from the column on that is next. A finished column leaves by the left, so that the same
// code serves several columns and registers are named at compile time.
#pragma once

#include "kernel/factor_gpu/arithmetic.cuh"
#include "kernel/factor_gpu/config.hpp"

namespace tilewright {

template <class T, FactorGpuShape S, FactorGpuConfig C>
struct FactorGpuRows {
  static constexpr int n = S.n, lanes = C.lanes, rows = factor_gpu_rows(S, C), size = int(sizeof(T));
  static constexpr int pitch = factor_gpu_tile_a(S, size).pitch;
  static constexpr bool in_vectors = factor_gpu_in_vectors(S, size);
  static constexpr int vector = in_vectors ? factor_gpu_vector_bytes / size : 1;
  // Columns that are finished before the others move to the left; a multiple of `vector`.
  static constexpr int block = size == 4 ? 4 : 2;
  static constexpr int piece = C.run == 0 ? block : C.run;

  T row[rows][n];

  __device__ __forceinline__ static void sync() {
    if constexpr (lanes > 1) __syncwarp();
  }

  __device__ __forceinline__ void load(const T* a, int lane) {
#pragma unroll
    for (int r = 0; r < rows; ++r) {
      const int i = lane + lanes * r;
#pragma unroll
      for (int j = 0; j < n; ++j)
        row[r][j] = i < n ? a[S.a_by_rows ? i * pitch + j : j * pitch + i] : zero<T>();
    }
    sync();  // the factors take the place of the matrix
  }

  // Elements [First, Width) of a line that begins with a whole vector.
  template <int First, int Width>
  __device__ __forceinline__ static void get(T (&to)[n], const T* line) {
#pragma unroll
    for (int j = First / vector * vector; j < Width; j += vector) {
      const auto several = *reinterpret_cast<const Pack<T, vector>*>(line + j);
#pragma unroll
      for (int i = 0; i < vector; ++i)
        if (j + i < Width) to[j + i] = several.item[i];
    }
  }
  // The same to shared memory, of a line that has `left` elements.
  template <int First, int Width>
  __device__ __forceinline__ static void put(T* line, const T (&from)[n], int left) {
    constexpr int whole = (First + vector - 1) / vector * vector;
#pragma unroll
    for (int j = First; j < whole; ++j)
      if (j < Width && j < left) line[j] = from[j];
#pragma unroll
    for (int j = whole; j < Width; j += vector) {
      if (j >= left) continue;
      Pack<T, vector> several;
#pragma unroll
      for (int i = 0; i < vector; ++i) several.item[i] = from[j + i];
      *reinterpret_cast<Pack<T, vector>*>(line + j) = several;
    }
  }

  template <int Width>
  __device__ __forceinline__ void move_left() {
#pragma unroll
    for (int r = 0; r < rows; ++r)
#pragma unroll
      for (int j = 0; j < Width; ++j)
        if (j + block < Width) row[r][j] = row[r][j + block];
  }

  // Calls step.template column<v, Width>(first) for all columns first + v, where Width registers of a row
  // begin with column `first`.
  template <int Begin, class Step>
  __device__ __forceinline__ void each_column(Step& step) {
    if constexpr (Begin < n) {
      constexpr int end = Begin + piece < n ? Begin + piece : n;
      if constexpr (piece == block) {
        block_of_columns<n - Begin, 0>(step, Begin);
      } else {
#pragma unroll 1
        for (int first = Begin; first < end; first += block) block_of_columns<n - Begin, 0>(step, first);
      }
      each_column<Begin + piece>(step);
    }
  }

 private:
  template <int Width, int v, class Step>
  __device__ __forceinline__ void block_of_columns(Step& step, int first) {
    if constexpr (v == block || v == Width) {
      move_left<Width>();
    } else {
      if (first + v < n) step.template column<v, Width>(first);
      block_of_columns<Width, v + 1>(step, first);
    }
  }
};

}  // namespace tilewright
