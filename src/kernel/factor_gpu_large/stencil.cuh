// Factorizations and solves of batches of matrices of any order (factor_gpu_large/config.hpp): a block takes
// a matrix, or some of the right sides of one.
#pragma once

#include "kernel/factor_gpu_large/factor.cuh"
#include "kernel/factor_gpu_large/solve.cuh"

namespace tilewright {

template <class T, FactorGpuShape S, FactorLargeConfig C>
__global__ void __launch_bounds__(C.threads) factor_large(const FactorLargeArgs<T> args) {
  extern __shared__ __align__(128) unsigned char shared[];
  FactorLargeBlock<T, S, C> block{args, shared, factor_large_memory(S, C, args.m, args.n, int(sizeof(T)))};
  for (long long problem = blockIdx.x; problem < args.count; problem += gridDim.x) {
    block.is_odd = false;
    block.run(problem);
    __syncthreads();
  }
}

template <class T, FactorGpuShape S, FactorLargeSolveConfig C>
__global__ void __launch_bounds__(C.threads) solve_large(const FactorLargeArgs<T> args) {
  extern __shared__ __align__(128) unsigned char shared[];
  const int panels = (args.nrhs + C.sides - 1) / C.sides;
  const long long all = args.count * panels;
  for (long long one = blockIdx.x; one < all; one += gridDim.x) {
    const long long problem = one / panels;
    const auto a = factor_large_view<T, S.a_place, S.a_by_rows>(args.a, problem);
    const FactorLargeSolver<T, S, C> solver{
        args, shared, factor_large_solve_memory(C, S.exchanges, args.n, int(sizeof(T))), a};
    solver.run(problem, int(one % panels) * C.sides);
    __syncthreads();
  }
}

}  // namespace tilewright
