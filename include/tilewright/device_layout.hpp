/// @file
/// Conversions between batch layouts in device memory: from strided and pointer batches to
/// (block-)interleaved ones and back, as tilewright/layout.hpp has them for the host. The matrices, and the
/// array of a pointer batch, lie on GPU options.queue.device. Only `queue` of the options matters.
/// @par Memory The caller owns all memory, which must live until the queued work is done. A call is queued on
///   the stream and returns before the work is done. Once its kernel is compiled, by prepare_layout() or an
///   earlier call, it neither waits nor allocates device memory and can be captured in a CUDA graph, which
///   the Context must outlive.
/// @par Threads Any number of threads may call with one Context at once, on different destinations.
/// @par Errors Views are checked before anything is queued: Error(invalid_argument) names the view, the field
///   and its value; Error(unsupported) if there is no GPU, or the kernel is missing in a Context that must
///   not compile in calls. Addresses in device memory are not checked: a null one is skipped, its slots
///   become zero.
#pragma once

#include <type_traits>

#include "tilewright/context.hpp"
#include "tilewright/gemm.hpp"
#include "tilewright/types.hpp"

namespace tilewright {

/// Copies `from` into `to`; rows, columns and counts must agree. The unused slots of the last block become
/// zero in all rows and columns; rows beyond `rows` (ld > rows) keep their contents. A broadcast batch
/// (stride 0) is repeated.
template <class T>
void interleave(Context& context, StridedBatch<const std::type_identity_t<T>, Location::device> from,
                InterleavedBatch<T, Location::device> to, const GemmOptions& options = {});
template <class T>
void interleave(Context& context, PointerBatch<const std::type_identity_t<T>, Location::device> from,
                InterleavedBatch<T, Location::device> to, const GemmOptions& options = {});

/// Copies `from` into `to`, whose matrices must not overlap; padding is not read.
template <class T>
void deinterleave(Context& context, InterleavedBatch<const std::type_identity_t<T>, Location::device> from,
                  StridedBatch<T, Location::device> to, const GemmOptions& options = {});
template <class T>
void deinterleave(Context& context, InterleavedBatch<const std::type_identity_t<T>, Location::device> from,
                  PointerBatch<T, Location::device> to, const GemmOptions& options = {});

/// Compiles and loads the kernels for conversions of matrices with rows * cols elements, in both directions,
/// even if ContextOptions::no_jit forbids it to calls.
/// @throws Error as prepare() of tilewright/plan.hpp.
void prepare_layout(Context& context, DType dtype, std::int64_t rows, std::int64_t cols,
                    const GemmOptions& options = {});

}  // namespace tilewright
