// Copies A and B of large GEMM to whole tiles at multiples of 16 bytes, with zeros beyond the matrix,
// transposed or not. Untransposed, a thread writes 16 bytes at a time and reads their elements one by one, at
// any alignment, with several pieces in flight.
#pragma once

#include "kernel/gemm_large/device.cuh"

namespace tilewright {

// Copies by block `block` of `blocks`.
template <class T>
__device__ __forceinline__ void pad_operand(const GemmLargePadOperand<T>& x, int block, int blocks) {
  constexpr int vector = gemm_large_chunk / int(sizeof(T)), together = 4;
  using P = Pack<T, vector>;
  const long long step = static_cast<long long>(blocks) * gemm_large_pad_threads;
  const long long first = static_cast<long long>(block) * gemm_large_pad_threads + threadIdx.x;
  const auto per_column = static_cast<unsigned>(x.to_rows / vector);
  const long long pieces = x.to_columns * per_column;
  const auto read = [&](long long piece) {
    // Divisions in 64 bits are slow, and few matrices need them.
    const long long column =
        pieces < 0xffffffffll ? static_cast<unsigned>(piece) / per_column : piece / per_column;
    const long long row = (piece - column * per_column) * vector;
    P pack{};
#pragma unroll
    for (int e = 0; e < vector; ++e)
      if (column < x.columns && row + e < x.rows) pack.item[e] = x.from[column * x.ld + row + e];
    return pack;
  };
#pragma unroll 1
  for (long long piece = first; piece < pieces; piece += together * step) {
    P packs[together];
#pragma unroll
    for (int i = 0; i < together; ++i)
      if (piece + i * step < pieces) packs[i] = read(piece + i * step);
#pragma unroll
    for (int i = 0; i < together; ++i)
      if (piece + i * step < pieces) reinterpret_cast<P*>(x.to)[piece + i * step] = packs[i];
  }
}

// Transposes squares through shared memory: reads and writes are contiguous. All threads of a block call it.
template <class T>
__device__ __forceinline__ void transpose_operand(const GemmLargePadOperand<T>& x, int block, int blocks) {
  constexpr int side = 32, lines = gemm_large_pad_threads / side;
  __shared__ T square[side][side + 1];
  const int lane = int(threadIdx.x) % side, line = int(threadIdx.x) / side;
  const long long along = (x.to_columns + side - 1) / side, across = (x.to_rows + side - 1) / side;
#pragma unroll 1
  for (long long s = block; s < along * across; s += blocks) {
    const long long row = s % along * side, column = s / along * side;  // of `from`
    __syncthreads();  // the previous square has been written
#pragma unroll
    for (int i = line; i < side; i += lines) {
      const bool inside = row + lane < x.rows && column + i < x.columns;
      square[i][lane] = inside ? x.from[(column + i) * x.ld + row + lane] : T{};
    }
    __syncthreads();
#pragma unroll
    for (int i = line; i < side; i += lines)
      if (column + lane < x.to_rows && row + i < x.to_columns)
        x.to[(row + i) * x.to_rows + column + lane] = square[lane][i];
  }
}

template <class T>
__device__ __forceinline__ void copy_operand(const GemmLargePadOperand<T>& x, int block, int blocks) {
  if (x.transposed)
    transpose_operand(x, block, blocks);
  else
    pad_operand(x, block, blocks);
}

// First blocks copy A, others B. Profiles count one kernel with the family's name per call.
template <class T, bool DependentLaunch>
__global__ void gpu_pad_operands(const __grid_constant__ GemmLargePadArgs<T> args) {
  if constexpr (DependentLaunch) {
    wait_for_launch_before();
    let_next_launch_begin();
  }
  const int block = int(blockIdx.x), others = int(gridDim.x) - args.blocks_a;
  if (block < args.blocks_a)
    copy_operand(args.a, block, args.blocks_a);
  else
    copy_operand(args.b, block - args.blocks_a, others);
}

}  // namespace tilewright
