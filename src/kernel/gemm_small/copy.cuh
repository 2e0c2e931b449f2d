// Copies of a tile's matrices into shared memory: whole runs and matrices in pieces of 16 bytes, columns if a
// leading dimension separates them, elements if nothing is aligned.
#pragma once

#include "kernel/common/copy.cuh"
#include "kernel/gemm_small/config.hpp"

namespace tilewright {

template <class T>
__device__ __forceinline__ bool at_piece(const T* address) {
  return reinterpret_cast<unsigned long long>(address) % 16 == 0;
}
// Returns the elements between the start of a 16-byte piece and an address.
template <class T>
__device__ __forceinline__ int elements_into_piece(const T* address) {
  return static_cast<int>(reinterpret_cast<unsigned long long>(address) % 16) / static_cast<int>(sizeof(T));
}

// Copies `count` elements by thread `thread` of `threads`; both ends have the same offset within a piece.
template <class T>
__device__ __forceinline__ void run_async(T* to, const T* from, int count, int thread, int threads) {
  constexpr int piece = 16 / sizeof(T);
  for (int e = thread * piece - elements_into_piece(from); e < count; e += threads * piece) {
    if (e >= 0 && e + piece <= count) {
      copy_async<16>(to + e, from + e);
      continue;
    }
    for (int i = 0; i < piece; ++i)
      if (e + i >= 0 && e + i < count) copy_async<int(sizeof(T))>(to + e + i, from + e + i);
  }
}

// Packs columns of `rows` <= Rows elements, `per_matrix` of them into each slot of `slot` elements. `source`
// returns the address of a column or null. Moves packs if the addresses allow.
template <int Rows, class T, class Source>
__device__ __forceinline__ void columns_async(T* to, int rows, int columns, int per_matrix, int slot,
                                              Source source, int thread, int threads) {
  constexpr int pack = gemm_small_pack(Rows, Rows, Rows, 16 / int(sizeof(T)));
  constexpr int per_column = Rows / pack;
  for (int e = thread; e < columns * per_column; e += threads) {
    const int column = e / per_column, row = e % per_column * pack;
    const T* from = source(column);
    if (from == nullptr) continue;
    from += row;
    T* target = to + column / per_matrix * slot + column % per_matrix * Rows + row;
    if (row + pack <= rows && reinterpret_cast<unsigned long long>(from) % (pack * sizeof(T)) == 0) {
      copy_async<pack* int(sizeof(T))>(target, from);
      continue;
    }
    for (int i = 0; i < pack; ++i)
      if (row + i < rows) copy_async<int(sizeof(T))>(target + i, from + i);
  }
}

// Copies a matrix without gaps, of run-time size: pieces if it is aligned to them, and elements.
template <class T>
__device__ __forceinline__ void matrix_async(T* to, const T* from, int count, int thread, int threads) {
  constexpr int piece = 16 / sizeof(T);
  const int whole = at_piece(from) ? count / piece * piece : 0;
  for (int e = thread * piece; e < whole; e += threads * piece) copy_async<16>(to + e, from + e);
  for (int e = whole + thread; e < count; e += threads) copy_async<int(sizeof(T))>(to + e, from + e);
}

// Copies a matrix without its gaps. Each place follows from the last: a division would take longer.
template <class T>
__device__ __forceinline__ void elements_async(T* to, const T* from, int rows, int columns, long long ld,
                                               int thread, int threads) {
  int row = thread, column = 0;
  for (int e = thread; e < rows * columns; e += threads, row += threads) {
    for (; row >= rows; row -= rows) ++column;
    copy_async<int(sizeof(T))>(to + e, from + column * ld + row);
  }
}

// Copies a whole matrix by one thread: pieces by a bulk copy, the rest by copies that arrive at the barrier
// by themselves (copy_async_arrive). Returns the bytes that the copy engine will report.
template <class T>
__device__ __forceinline__ unsigned matrix_bulk(T* to, const T* from, int count,
                                                unsigned long long* barrier) {
  constexpr int piece = 16 / sizeof(T);
  const int whole = at_piece(from) ? count / piece * piece : 0;
  const unsigned bytes = static_cast<unsigned>(whole) * static_cast<unsigned>(sizeof(T));
  if (whole > 0) bulk_load(to, from, bytes, barrier);
#pragma unroll 1
  for (int e = whole; e < count; ++e) copy_async<int(sizeof(T))>(to + e, from + e);
  return bytes;
}

// Copies a run by one bulk copy of whole pieces. End elements that share a piece with others come with it if
// `open_begin` and `open_end` say that those belong to the operand, else one by one. Returns the bytes that
// the copy engine will report.
template <class T>
__device__ __forceinline__ unsigned run_bulk(T* to, const T* from, int count, bool open_begin, bool open_end,
                                             unsigned long long* barrier) {
  constexpr int piece = 16 / sizeof(T);
  const int into = elements_into_piece(from);
  int begin = into == 0 ? 0 : open_begin ? -into : piece - into;
  int end = (into + count + (open_end ? piece - 1 : 0)) / piece * piece - into;
  if (end < begin) begin = end = count;  // within one piece
  for (int e = 0; e < begin && e < count; ++e) to[e] = from[e];
  for (int e = end > 0 ? end : 0; e < count; ++e) to[e] = from[e];
  const unsigned bytes = static_cast<unsigned>(end - begin) * static_cast<unsigned>(sizeof(T));
  if (bytes > 0) bulk_load(to + begin, from + begin, bytes, barrier);
  return bytes;
}

// Stores a run: whole pieces by one bulk copy, the ends element by element.
template <class T>
__device__ __forceinline__ void run_bulk_store(T* to, const T* from, int count) {
  constexpr int piece = 16 / sizeof(T);
  const int into = elements_into_piece(to);
  const int before = into == 0 ? 0 : piece - into;
  const int begin = before < count ? before : count;
  const int end = begin + (count - begin) / piece * piece;
  for (int e = 0; e < begin; ++e) to[e] = from[e];
  if (end > begin)
    bulk_store(to + begin, from + begin, static_cast<unsigned>((end - begin) * int(sizeof(T))));
  for (int e = end; e < count; ++e) to[e] = from[e];
}

}  // namespace tilewright
