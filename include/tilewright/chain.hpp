// Several planned batches, one after the other, over the same elements: the contractions of a tensor-product
// element, say, or of a network of tensors. A chain runs all of its passes over a piece of the elements that
// the caches hold before it goes on to the next piece, so that what one pass writes is still there when the
// next one reads it. Results are those of the passes run one after the other, bit for bit.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "tilewright/options.hpp"
#include "tilewright/plan.hpp"

namespace tilewright {
inline namespace v0_2 {

// Room of the chain's own that takes the place of an operand: numbers count from 1. Every thread has its own,
// of the size of a piece, so that what only passes of the chain read never goes to memory. A pass may read
// what an earlier one wrote there for the same element; afterwards it is gone. What lies between the columns
// that a pass wrote, where its ldc or strides leave gaps, is undefined.
struct ChainScratch {
  int number = 0;
};

// The place of an operand of a pass: the base address for all elements, as GemmPlan::run takes it, or
// scratch.
template <class T>
struct ChainOperand {
  T* data = nullptr;
  int scratch = 0;  // 0: none

  ChainOperand(T* address) : data(address) {}               // NOLINT: either is meant as it stands
  ChainOperand(ChainScratch room) : scratch(room.number) {  // NOLINT
    if (room.number < 1)
      raise(Error(ErrorCode::invalid_argument, "scratch",
                  "scratch " + std::to_string(room.number) + ": numbers count from 1"));
  }
};

// C = alpha op(A) op(B) + beta C of a batch, as plan->run(alpha, a, b, beta, c). The plan, which must live
// until the chain has run, is of a strided batch of one or more levels. Values of alpha or beta per problem
// lie where the operands do.
template <class T>
struct ChainPass {
  const GemmPlan* plan = nullptr;
  BatchScalar<T> alpha;
  ChainOperand<const T> a;
  ChainOperand<const T> b;
  BatchScalar<T> beta;
  ChainOperand<T> c;
};

struct ChainOptions {
  int threads = 0;                // 0: OpenMP's default; inside a parallel region always 1
  std::int64_t piece = 0;         // elements in a piece; 0: as many as a core's caches suggest
  CUstream_st* stream = nullptr;  // of passes in device memory: where they are queued
};

}  // namespace v0_2

// Runs the passes in order. Each batch consists of `count` elements, that is, its outermost level (of those
// that cannot be joined) has a multiple of `count` parts, and element e is the e-th run of as many problems.
// Allowed dependencies: problems of element e may read, and overwrite, what earlier passes wrote or read of
// element e. Nothing of one element may be written by another; within a pass the rules are those of a batch.
//
// In device memory all passes are queued one after the other on the stream, each over all elements, and there
// is no scratch. Throws Error naming the pass for a plan of another type, layout, location or count, for a
// plan that GPUs and CPU share, for null operands, and for scratch that is read before a pass has written it;
// nothing has been written or queued then.
template <class T>
void run_chain(std::int64_t count, std::span<const ChainPass<T>> passes, const ChainOptions& options = {});

// Describes how run_chain would run: pieces, bytes of an element, scratch, threads; then each pass's problem
// and way.
template <class T>
std::string explain_chain(std::int64_t count, std::span<const ChainPass<T>> passes,
                          const ChainOptions& options = {});

}  // namespace tilewright
