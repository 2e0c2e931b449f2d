// Conversions between batch layouts: from strided and pointer batches to (block-)interleaved ones and back.
// Views say where the matrices lie; nothing is allocated. block == count makes the fully interleaved layout.
//
// Every function checks its views before it writes anything and throws Error naming the view, the field, its
// value and, for pointers, the problem. Outside a parallel region the work is shared among `threads` threads
// (0: OpenMP's default number); inside one it stays on the calling thread.
#pragma once

#include <cstdint>
#include <type_traits>

#include "tilewright/types.hpp"

namespace tilewright {

// Elements that an interleaved batch occupies, padding of its last block included: what to allocate.
std::int64_t interleaved_elements(std::int64_t rows, std::int64_t cols, std::int64_t ld, std::int64_t block,
                                  std::int64_t count);
template <class T>
std::int64_t interleaved_elements(const InterleavedBatch<T>& batch) {
  return interleaved_elements(batch.rows, batch.cols, batch.ld, batch.block, batch.count);
}

// The block that kernels like best on this machine. Throws Error(invalid_argument) for a dtype that is none.
std::int64_t recommended_block(DType dtype);

// Copies `from` into `to`; rows, columns and counts must agree. The unused slots of the last block become
// zero in all rows and columns; rows beyond `rows` (ld > rows) keep what they hold. A broadcast batch (stride
// 0) is repeated.
template <class T>
void interleave(StridedBatch<const std::type_identity_t<T>> from, InterleavedBatch<T> to, int threads = 0);
template <class T>
void interleave(PointerBatch<const std::type_identity_t<T>> from, InterleavedBatch<T> to, int threads = 0);

// Copies `from` into `to`, whose matrices must not overlap; padding is not read.
template <class T>
void deinterleave(InterleavedBatch<const std::type_identity_t<T>> from, StridedBatch<T> to, int threads = 0);
template <class T>
void deinterleave(InterleavedBatch<const std::type_identity_t<T>> from, PointerBatch<T> to, int threads = 0);

}  // namespace tilewright
