/// @file
/// Conversions between batch layouts in host memory: from strided and pointer batches to (block-)interleaved
/// ones and back. block == count is the fully interleaved layout.
/// @par Units Sizes, leading dimensions, strides and counts count elements, in 64 bits.
/// @par Memory The caller owns all memory; nothing is allocated.
/// @par Threads The functions may be called by any thread, on different destinations. Outside a parallel
/// region
///   `threads` threads share the work (0: OpenMP's default number); inside one the calling thread does it.
/// @par Errors Every function checks its views before it writes anything and throws Error(invalid_argument)
///   naming the view, the field, its value and, for pointers, the problem.
#pragma once

#include <cstdint>
#include <type_traits>

#include "tilewright/types.hpp"

namespace tilewright {

/// Returns the elements to allocate for an interleaved batch, with the padding of its last block.
std::int64_t interleaved_elements(std::int64_t rows, std::int64_t cols, std::int64_t ld, std::int64_t block,
                                  std::int64_t count);
template <class T>
std::int64_t interleaved_elements(const InterleavedBatch<T>& batch) {
  return interleaved_elements(batch.rows, batch.cols, batch.ld, batch.block, batch.count);
}

/// Returns the block size for which kernels are fastest on this machine.
/// @throws Error invalid_argument for a value that is not a DType.
std::int64_t recommended_block(DType dtype);

/// Copies `from` into `to`; rows, columns and counts must agree. The unused slots of the last block become
/// zero in all rows and columns; rows beyond `rows` (ld > rows) keep their contents. A broadcast batch
/// (stride 0) is repeated.
template <class T>
void interleave(StridedBatch<const std::type_identity_t<T>> from, InterleavedBatch<T> to, int threads = 0);
template <class T>
void interleave(PointerBatch<const std::type_identity_t<T>> from, InterleavedBatch<T> to, int threads = 0);

/// Copies `from` into `to`, whose matrices must not overlap; padding is not read.
template <class T>
void deinterleave(InterleavedBatch<const std::type_identity_t<T>> from, StridedBatch<T> to, int threads = 0);
template <class T>
void deinterleave(InterleavedBatch<const std::type_identity_t<T>> from, PointerBatch<T> to, int threads = 0);

}  // namespace tilewright
