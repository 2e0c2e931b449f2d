/// @file
/// Chains: several planned batches, one after the other, over the same elements, such as the contractions of
/// a tensor-product element or of a network of tensors. A chain runs all its passes over a piece of the
/// elements that fits in the caches before it goes on to the next piece, so that a pass finds the results of
/// earlier ones in cache. Results are those of the passes run one after the other, bit for bit.
/// @par Memory The caller owns operands and plans, which must live until the chain has run; in device memory,
///   until the queued work is done.
/// @par Threads Any number of chains may run at once, on different C.
/// @par Errors The functions throw Error(invalid_argument) naming the pass and its argument before anything
/// is
///   written or queued.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "tilewright/options.hpp"
#include "tilewright/plan.hpp"

namespace tilewright {
inline namespace v0_2 {

/// A buffer of the chain that replaces an operand, numbered from 1. Each thread has one of the size of a
/// piece, so that intermediate results never go to memory. A pass may read what an earlier one wrote there
/// for the same element; after the chain the contents are lost. Gaps that ldc or strides leave between
/// columns are undefined.
struct ChainScratch {
  int number = 0;
};

/// The place of an operand of a pass: the base address for all elements, as in GemmPlan::run(), or scratch.
template <class T>
struct ChainOperand {
  T* data = nullptr;
  int scratch = 0;  ///< number of the buffer; 0: none

  /// An address, or a buffer.
  /// @throws Error invalid_argument for a buffer number below 1.
  ChainOperand(T* address) : data(address) {}               // NOLINT: either is meant as it stands
  ChainOperand(ChainScratch room) : scratch(room.number) {  // NOLINT
    if (room.number < 1)
      raise(Error(ErrorCode::invalid_argument, "scratch",
                  "scratch " + std::to_string(room.number) + ": numbers count from 1"));
  }
};

/// C = alpha op(A) op(B) + beta C of a batch, as plan->run(alpha, a, b, beta, c). The plan is of a strided
/// batch of one or more levels. Values of alpha or beta per problem lie where the operands do.
template <class T>
struct ChainPass {
  const GemmPlan* plan = nullptr;
  BatchScalar<T> alpha;
  ChainOperand<const T> a;
  ChainOperand<const T> b;
  BatchScalar<T> beta;
  ChainOperand<T> c;
};

/// Every field has a default.
struct ChainOptions {
  int threads = 0;                ///< 0: OpenMP's default; inside a parallel region always 1
  std::int64_t piece = 0;         ///< elements in a piece; 0: by the size of a core's caches
  CUstream_st* stream = nullptr;  ///< stream for passes in device memory; null: the default stream
};

}  // namespace v0_2

/// Runs the passes in order. Each batch consists of `count` elements: its outermost level (of those that
/// cannot be joined) has a multiple of `count` parts, and element e is the e-th run of as many problems.
/// Problems of element e may read, and overwrite, what earlier passes wrote or read of element e. No element
/// may write what belongs to another; within a pass the rules are those of a batch. In device memory all
/// passes are queued one after the other on the stream, each over all elements, and there is no scratch.
/// @throws Error invalid_argument naming the pass for a plan of another type, layout, location or count, for
/// a
///   plan that GPUs and CPU share, for null operands, and for scratch that is read before it is written.
template <class T>
void run_chain(std::int64_t count, std::span<const ChainPass<T>> passes, const ChainOptions& options = {});

/// Returns how run_chain() would run: pieces, bytes of an element, scratch, threads; then the problem and the
/// candidate of each pass.
/// @throws Error as run_chain().
template <class T>
std::string explain_chain(std::int64_t count, std::span<const ChainPass<T>> passes,
                          const ChainOptions& options = {});

}  // namespace tilewright
