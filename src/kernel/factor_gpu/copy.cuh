// Copies of a block's matrices between device memory and shared memory, in the pieces of the shape.
#pragma once

#include "kernel/common/copy.cuh"
#include "kernel/common/element.cuh"
#include "kernel/factor_gpu/config.hpp"
#include "kernel/factor_gpu/device.cuh"

namespace tilewright {

// The part of a matrix that is copied: all; of columns the lower triangle; of rows the lower triangle.
enum class FactorGpuPart : unsigned char { all, ends_of_lines, beginnings_of_lines };

// Returns where matrix p of a batch begins.
template <FactorGpuPlace Where, class T>
__device__ __forceinline__ T* factor_gpu_matrix(const FactorGpuOperand<T>& x, long long p) {
  if constexpr (Where == FactorGpuPlace::pointers) return x.pointers[p];
  if constexpr (Where == FactorGpuPlace::interleaved)
    return x.data + p / x.block * x.block_stride + p % x.block;
  return x.data + p * x.stride;
}

// Of one operand of a tile of `Matrices` matrices.
template <class T, FactorGpuTile L, FactorGpuPlace Where, FactorGpuPieces Pieces, int Threads, int Matrices>
struct FactorGpuCopies {
  static constexpr int size = int(sizeof(T)), vector = factor_gpu_vector_bytes / size;
  static constexpr int elements = L.length * L.lines;
  static constexpr bool is_run = L.distance == elements && L.pitch == L.length;

  __device__ static T* matrix(const FactorGpuOperand<T>& x, long long p) {
    return factor_gpu_matrix<Where>(x, p);
  }
  template <FactorGpuPart Part>
  __device__ static bool wants(int f, int line, int count = 1) {
    if (Part == FactorGpuPart::ends_of_lines) return f + count > line;
    if (Part == FactorGpuPart::beginnings_of_lines) return f <= line;
    return true;
  }
  template <FactorGpuPart Part>
  __device__ static bool wants_all(int f, int line) {
    if (Part == FactorGpuPart::ends_of_lines) return f >= line;
    if (Part == FactorGpuPart::beginnings_of_lines) return f + vector - 1 <= line;
    return true;
  }

  // Element e of a tile: its matrix, line and place there. Neighbours in memory have neighbouring numbers.
  struct Position {
    int matrix, line, f;
  };
  __device__ static Position position(int e) {
    if constexpr (Where == FactorGpuPlace::interleaved) {
      const int rest = e / Matrices;
      return {e % Matrices, rest / L.length, rest % L.length};
    }
    const int rest = e % elements;
    return {e / elements, rest / L.length, rest % L.length};
  }

  template <FactorGpuPart Part>
  __device__ static void load_run(T* to, const T* from, int count) {
    const int total = count * elements;
    for (int e = threadIdx.x * vector; e < total; e += Threads * vector) {
      T* const place = to + (is_run ? e : e / elements * L.distance + e % elements);
      if (e + vector <= total)
        copy_async<16>(place, from + e);
      else
        for (int i = 0; i < total - e; ++i) copy_async<size>(place + i, from + e + i);
    }
  }
  template <FactorGpuPart Part>
  __device__ static void load_vectors(T* to, const FactorGpuOperand<T>& x, long long first, int count) {
    constexpr int of_line = L.length / vector, of_matrix = of_line * L.lines;
    for (int e = threadIdx.x; e < count * of_matrix; e += Threads) {
      const int m = e / of_matrix, rest = e % of_matrix, line = rest / of_line, f = rest % of_line * vector;
      if (!wants<Part>(f, line, vector)) continue;
      copy_async<16>(to + m * L.distance + line * L.pitch + f, matrix(x, first + m) + line * x.line + f);
    }
  }
  // Queues the loads of `count` matrices from `first` on.
  template <FactorGpuPart Part>
  __device__ static void load(T* to, const FactorGpuOperand<T>& x, long long first, int count) {
    if constexpr (Pieces == FactorGpuPieces::run) {
      load_run<Part>(to, x.data + first * elements, count);
    } else if constexpr (Pieces == FactorGpuPieces::vectors) {
      load_vectors<Part>(to, x, first, count);
    } else {
      for (int e = threadIdx.x; e < Matrices * elements; e += Threads) {
        const Position at = position(e);
        if (at.matrix >= count || !wants<Part>(at.f, at.line)) continue;
        copy_async<size>(to + at.matrix * L.distance + at.line * L.pitch + at.f,
                         matrix(x, first + at.matrix) + at.line * x.line + at.f * x.element);
      }
    }
  }

  // In shared memory a matrix lies as it was loaded or, if Turned, by the other lines.
  template <bool Turned>
  __device__ static int place(int line, int f) {
    return Turned ? f * L.pitch + line : line * L.pitch + f;
  }
  template <bool Turned, FactorGpuPart Part, class Skips>
  __device__ static void store_vectors(const T* from, const FactorGpuOperand<T>& x, long long first,
                                       int count, Skips skips) {
    constexpr int of_line = L.length / vector, of_matrix = of_line * L.lines;
    for (int e = threadIdx.x; e < count * of_matrix; e += Threads) {
      const int m = e / of_matrix, rest = e % of_matrix, line = rest / of_line, f = rest % of_line * vector;
      if (!wants<Part>(f, line, vector) || skips(m)) continue;
      Pack<T, vector> several;
#pragma unroll
      for (int i = 0; i < vector; ++i) several.item[i] = from[m * L.distance + place<Turned>(line, f + i)];
      T* const to = matrix(x, first + m) + line * x.line + f;
      if (wants_all<Part>(f, line)) {
        *reinterpret_cast<Pack<T, vector>*>(to) = several;
      } else {
#pragma unroll
        for (int i = 0; i < vector; ++i)
          if (wants<Part>(f + i, line)) to[i] = several.item[i];
      }
    }
  }
  // Stores a batch that is one run in vectors; those that are not wanted as a whole, by their elements.
  template <bool Turned, FactorGpuPart Part, class Skips>
  __device__ static void store_run(const T* from, T* to, int count, Skips skips) {
    const int total = count * elements, whole = total / vector * vector;
    const auto item = [&](const Position& at) {
      return from[at.matrix * L.distance + place<Turned>(at.line, at.f)];
    };
    const auto wanted = [&](const Position& at) { return wants<Part>(at.f, at.line) && !skips(at.matrix); };
    for (int e = threadIdx.x * vector; e < whole; e += Threads * vector) {
      Pack<T, vector> several;
      bool is_wanted[vector], is_whole = true;
#pragma unroll
      for (int i = 0; i < vector; ++i) {
        const Position at = position(e + i);
        several.item[i] = item(at);
        is_wanted[i] = wanted(at);
        is_whole = is_whole && is_wanted[i];
      }
      if (is_whole) {
        store_vector(to + e, several);
      } else {
#pragma unroll
        for (int i = 0; i < vector; ++i)
          if (is_wanted[i]) to[e + i] = several.item[i];
      }
    }
    for (int e = whole + threadIdx.x; e < total; e += Threads)
      if (const Position at = position(e); wanted(at)) to[e] = item(at);
  }
  // Stores `count` matrices but those for which skips(number in the tile) is true.
  template <bool Turned, FactorGpuPart Part, class Skips>
  __device__ static void store(const T* from, const FactorGpuOperand<T>& x, long long first, int count,
                               Skips skips) {
    if constexpr (Pieces == FactorGpuPieces::vectors) {
      store_vectors<Turned, Part>(from, x, first, count, skips);
    } else if constexpr (Pieces == FactorGpuPieces::run) {
      store_run<Turned, Part>(from, x.data + first * elements, count, skips);
    } else {
      for (int e = threadIdx.x; e < Matrices * elements; e += Threads) {
        const Position at = position(e);
        if (at.matrix >= count || !wants<Part>(at.f, at.line) || skips(at.matrix)) continue;
        matrix(x, first + at.matrix)[at.line * x.line + at.f * x.element] =
            from[at.matrix * L.distance + place<Turned>(at.line, at.f)];
      }
    }
  }
};

}  // namespace tilewright
