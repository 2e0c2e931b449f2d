// Conversions on the GPU between strided or pointer batches and interleaved blocks (Dongarra 2017). A block
// of threads moves a piece of some problems through shared memory, so that both sides are accessed in order.
#pragma once

#include "kernel/common/element.cuh"

namespace tilewright {

// Element (i, j) of problem p: single[p * stride + j * ld + i], or the same from addresses[p]; and
// interleaved[(p / block * interleaved_ld * columns + j * interleaved_ld + i) * block + p % block].
template <class T>
struct LayoutArgs {
  T* single;            // not read if addresses are given
  T* const* addresses;  // a null address is skipped
  T* interleaved;
  long long count;
  long long stored;  // slots to fill, at least count; those beyond become zero
  long long stride, ld, interleaved_ld;
  long long block;
  int rows, columns;
};

template <class T>
__device__ __forceinline__ T* layout_single(const LayoutArgs<T>& args, long long problem, int element) {
  T* matrix = args.addresses == nullptr ? args.single + problem * args.stride : args.addresses[problem];
  return matrix == nullptr ? matrix : matrix + element / args.rows * args.ld + element % args.rows;
}
template <class T>
__device__ __forceinline__ T* layout_interleaved(const LayoutArgs<T>& args, long long problem, int element) {
  const long long place = element / args.rows * args.interleaved_ld + element % args.rows;
  const long long stored = problem / args.block * args.interleaved_ld * args.columns;
  return args.interleaved + (stored + place) * args.block + problem % args.block;
}

// Moves pieces of Problems x Elements: on the side of single matrices elements run fastest over threads, on
// the other problems.
template <class T, bool Interleave, int Problems, int Elements, int Threads>
__global__ void __launch_bounds__(Threads) layout_convert(const LayoutArgs<T> args) {
  extern __shared__ __align__(128) unsigned char shared[];
  auto* piece = reinterpret_cast<T(*)[Elements + 1]>(shared);
  const int elements = args.rows * args.columns;
  const long long across = (elements + Elements - 1) / Elements;
  const long long pieces = (args.stored + Problems - 1) / Problems * across;
  for (long long at = blockIdx.x; at < pieces; at += gridDim.x) {
    const long long problem = at / across * Problems;
    const int element = static_cast<int>(at % across) * Elements;
    // Phase 1: reads.
    for (int i = threadIdx.x; i < Problems * Elements; i += Threads) {
      const int p = Interleave ? i / Elements : i % Problems, e = Interleave ? i % Elements : i / Problems;
      const bool exists = problem + p < args.count && element + e < elements;
      const T* from = nullptr;
      if (exists)
        from = Interleave ? layout_single(args, problem + p, element + e)
                          : layout_interleaved(args, problem + p, element + e);
      piece[p][e] = from == nullptr ? zero<T>() : *from;
    }
    __syncthreads();
    // Phase 2: writes.
    for (int i = threadIdx.x; i < Problems * Elements; i += Threads) {
      const int p = Interleave ? i % Problems : i / Elements, e = Interleave ? i / Problems : i % Elements;
      if (element + e >= elements || problem + p >= (Interleave ? args.stored : args.count)) continue;
      T* to = Interleave ? layout_interleaved(args, problem + p, element + e)
                         : layout_single(args, problem + p, element + e);
      if (to != nullptr) *to = piece[p][e];
    }
    __syncthreads();
  }
}

}  // namespace tilewright
