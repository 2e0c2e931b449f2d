// The stencil of large GEMM on the GPU: C = alpha op(A) op(B) + beta C. A block computes tiles of C, or k
// ranges of them, from tiles of op(A) and op(B) in a ring of shared-memory stages. Sizes are run-time values.
#pragma once

#include "kernel/gemm_large/fma.cuh"
#include "kernel/gemm_large/mma.cuh"
#include "kernel/gemm_large/pad.cuh"
#include "kernel/gemm_large/ring.cuh"
#include "kernel/gemm_large/store.cuh"

namespace tilewright {

template <bool Condition, class A, class B>
struct GemmLargeEither {
  using Type = A;
};
template <class A, class B>
struct GemmLargeEither<false, A, B> {
  using Type = B;
};

// Returns unit `index` of this block, from values that the compiler cannot keep between calls.
template <GemmLargeShape S, GemmLargeConfig C, class Args>
__device__ __forceinline__ bool find_unit(const Args& args, int index, GemmLargeGrid& grid,
                                          GemmLargeWork& work) {
  constexpr GemmLargeConfig clusters = gemm_large_of_clusters(C);
  if constexpr (S.batch != GemmLargeBatch::none) {
    if (!gemm_large_walks(C) && index > 0) return false;
    grid = gemm_large_grid(C, here(args.m), here(args.n), here(args.k), int(here(gridDim.x)));
    return gemm_large_batch_unit(C, grid, args.problems, int(here(blockIdx.x)), index, work);
  } else if constexpr (gemm_large_walks(C)) {
    grid =
        gemm_large_grid(clusters, here(args.m), here(args.n), here(args.k), int(here(gridDim.x)) / C.cluster);
    return gemm_large_unit(clusters, grid, int(here(blockIdx.x)) / C.cluster, index, work);
  } else {
    grid = gemm_large_grid(clusters, args.m, args.n, args.k, int(gridDim.x) / C.cluster);
    return index == 0 && gemm_large_unit(clusters, grid, int(blockIdx.x) / C.cluster, 0, work);
  }
}

// Returns rows, columns and k of a unit of work, with no steps if k = 0.
template <GemmLargeConfig C, class Args>
__device__ __forceinline__ GemmLargeSpan gemm_large_span(const Args& args, const GemmLargeWork& work) {
  GemmLargeSpan span;
  span.row_a = static_cast<long long>(work.tile_m) * C.tile_m;
  span.row_b = static_cast<long long>(gemm_large_tile_n<C>(work)) * C.tile_n;
  span.k_first = static_cast<long long>(work.k_begin) * C.tile_k;
  const long long stop = static_cast<long long>(work.k_end) * C.tile_k;
  span.k_stop = stop < args.k ? stop : args.k;
  span.turns = args.k == 0 ? 0 : work.k_end - work.k_begin;
  return span;
}

// Sums set aside after every few tiles of k, in registers or in shared memory, since the rounding error of a
// sum grows with its terms.
template <class Product>
class GemmLargeRegisters {
 public:
  using Real = typename Product::Real;
  static constexpr int stride = 1;
  __device__ __forceinline__ explicit GemmLargeRegisters(unsigned char*) {}
  __device__ __forceinline__ Real* own() { return sums_; }

 private:
  Real sums_[Product::real_count];
};
template <class Product, int Threads>
class GemmLargePlaces {
 public:
  using Real = typename Product::Real;
  static constexpr int stride = Threads;
  __device__ __forceinline__ explicit GemmLargePlaces(unsigned char* memory) : memory_(memory) {}
  // Computed each time, so that no register holds it meanwhile.
  __device__ __forceinline__ Real* own() { return reinterpret_cast<Real*>(memory_) + read_thread_again(); }

 private:
  unsigned char* memory_;
};

template <class Product, GemmLargeConfig C, bool = (C.sum_turns > 0)>
class GemmLargeAside {
 public:
  __device__ __forceinline__ explicit GemmLargeAside(unsigned char* memory) : sums_(memory) {
    auto* own = sums_.own();
#pragma unroll
    for (int i = 0; i < Product::real_count; ++i) own[i * Sums::stride] = 0;
  }
  __device__ __forceinline__ void after(int turn, Product& product) {
    if ((turn + 1) % C.sum_turns != 0) return;
    auto* own = sums_.own();
#pragma unroll
    for (int i = 0; i < Product::real_count; ++i) {
      own[i * Sums::stride] += product.real(i);
      product.real(i) = 0;
      // Otherwise all of them would be read first, into registers that large tiles do not have.
      if constexpr (C.sums_in_shared)
        if (i % 4 == 3) __syncwarp();
    }
  }
  __device__ __forceinline__ void give_back(Product& product) {
    auto* own = sums_.own();
#pragma unroll
    for (int i = 0; i < Product::real_count; ++i) {
      product.real(i) += own[i * Sums::stride];
      if constexpr (C.sums_in_shared)
        if (i % 4 == 3) __syncwarp();
    }
  }

 private:
  using Sums = typename GemmLargeEither<C.sums_in_shared, GemmLargePlaces<Product, gemm_large_workers(C)>,
                                        GemmLargeRegisters<Product>>::Type;
  Sums sums_;
};
template <class Product, GemmLargeConfig C>
class GemmLargeAside<Product, C, false> {
 public:
  __device__ __forceinline__ explicit GemmLargeAside(unsigned char*) {}
};

// Multiplies step after step of each stage.
template <class T, GemmLargeConfig C, class Product, class Ring>
__device__ __forceinline__ void multiply_turns(Product& product, Ring& ring, int turns, unsigned char* sums) {
  [[maybe_unused]] GemmLargeAside<Product, C> aside(sums);
  constexpr int steps = gemm_large_steps(C, sizeof(T));
  [[maybe_unused]] constexpr int unroll = C.k_unroll == 0 ? steps : C.k_unroll;
#pragma unroll 1
  for (int turn = 0; turn < turns; ++turn) {
    ring.acquire();
    ring.refill_begin();
    const unsigned char *a = ring.read_a(), *b = ring.read_b();
    typename Product::Fragment fragment;
#pragma unroll unroll
    for (int step = 0; step < steps; ++step) {
      product.load(fragment, a, b, step);
      product.multiply(fragment);
    }
    ring.release(ring.advance(), product.witness(fragment));
    ring.refill_end();
    if constexpr (C.sum_turns > 0) aside.after(turn, product);
  }
  if constexpr (C.sum_turns > 0) aside.give_back(product);
}

// Multiplies two steps of a stage from `Step` on and then the rest: while one fragment is multiplied, the
// next step's operands load into the other, across stages too. It recurs, since the compiler would not unroll
// a loop that contains the ring's waits, and would keep an array of fragments in memory.
template <int Step, int Steps, class Product, class Ring, class Fragment>
__device__ __forceinline__ void multiply_pairs(Product& product, Ring& ring, Fragment& even, Fragment& odd,
                                               const unsigned char*& a, const unsigned char*& b, bool last) {
  product.load(odd, a, b, Step + 1);
  if constexpr (Step == 0) ring.refill_begin();
  product.multiply(even);
  if constexpr (Step + 2 < Steps) {
    product.load(even, a, b, Step + 2);
  } else {
    // Released after the wait for the next stage: the compiler moves no instruction across that, and would
    // otherwise wait for the reads of `odd` at once.
    const int done = ring.advance();
    ring.refill_end();
    if (!last) ring.acquire();
    ring.release(done, product.witness(even) | product.witness(odd));
    if (!last) {
      a = ring.read_a();
      b = ring.read_b();
      product.load(even, a, b, 0);
    }
  }
  product.multiply(odd);
  if constexpr (Step + 2 < Steps) multiply_pairs<Step + 2, Steps>(product, ring, even, odd, a, b, last);
}

// As multiply_turns(), with prefetch.
template <class T, GemmLargeConfig C, class Product, class Ring>
__device__ __forceinline__ void multiply_turns_ahead(Product& product, Ring& ring, int turns,
                                                     unsigned char* sums) {
  constexpr int steps = gemm_large_steps(C, sizeof(T));
  static_assert(!C.prefetch || steps % 2 == 0, "two fragments take turns within a stage");
  if (turns == 0) return;
  [[maybe_unused]] GemmLargeAside<Product, C> aside(sums);
  typename Product::Fragment even, odd;
  ring.acquire();
  const unsigned char *a = ring.read_a(), *b = ring.read_b();
  product.load(even, a, b, 0);
  // Steps that a loop takes in pairs; the rest of a stage, at least two steps, is unrolled.
  constexpr int looped = C.k_unroll == 0 ? 0 : steps - 2;
#pragma unroll 1
  for (int turn = 0; turn < turns; ++turn) {
    if constexpr (looped > 0) ring.refill_begin();
#pragma unroll 1
    for (int step = 0; step < looped; step += 2) {
      product.load(odd, a, b, step + 1);
      product.multiply(even);
      product.load(even, a, b, step + 2);
      product.multiply(odd);
    }
    multiply_pairs<looped, steps>(product, ring, even, odd, a, b, turn + 1 == turns);
    if constexpr (C.sum_turns > 0) aside.after(turn, product);
  }
  if constexpr (C.sum_turns > 0) aside.give_back(product);
}

// Multiplies `steps` steps, fewer than a stage has. Tensor products need them unrolled: which of a lane's
// addresses a step reads is known to the compiler only.
template <GemmLargeConfig C, int Steps, class Product, class Ring>
__device__ __forceinline__ void multiply_rest(Product& product, Ring& ring, int steps) {
  ring.acquire();
  const unsigned char *a = ring.read_a(), *b = ring.read_b();
  typename Product::Fragment fragment;
  [[maybe_unused]] constexpr int unroll = gemm_large_is_mma(C) ? Steps : 1;
#pragma unroll unroll
  for (int step = 0; step + 1 < Steps; ++step) {
    if (step == steps) break;
    product.load(fragment, a, b, step);
    product.multiply(fragment);
  }
  ring.release(ring.advance(), product.witness(fragment));
}

// Multiplies all stages of a unit. Batches have so little k that a last stage multiplies no more than it
// holds.
template <class T, GemmLargeShape S, GemmLargeConfig C, class Product, class Ring>
__device__ __forceinline__ void multiply_span(Product& product, Ring& ring, const GemmLargeSpan& span,
                                              unsigned char* sums) {
  constexpr int step = gemm_large_step(C, sizeof(T)), steps = gemm_large_steps(C, sizeof(T));
  constexpr bool stops = S.batch != GemmLargeBatch::none && steps > 1;
  int rest = 0, turns = span.turns;
  if constexpr (stops) {
    rest = (int(span.k_stop - span.k_first) % C.tile_k + step - 1) / step % steps;
    if (rest > 0) --turns;
  }
  if constexpr (C.prefetch)
    multiply_turns_ahead<T, C>(product, ring, turns, sums);
  else
    multiply_turns<T, C>(product, ring, turns, sums);
  if constexpr (stops)
    if (rest > 0) multiply_rest<C, steps>(product, ring, rest);
}

template <class T, GemmLargeShape S, GemmLargeConfig C>
__global__ void __launch_bounds__(gemm_large_threads(C), C.blocks_per_sm)
    gemm_large(const __grid_constant__ GemmLargeArgs<T> args) {
  extern __shared__ __align__(1024) unsigned char shared[];
  using Ring = typename GemmLargeEither<C.load == GemmLargeLoad::tensor, GemmLargeTensorRing<T, S, C>,
                                        GemmLargeThreadRing<T, S, C>>::Type;
  using Product =
      typename GemmLargeEither<gemm_large_is_mma(C), GemmLargeMma<T, S, C>, GemmLargeFma<T, S, C>>::Type;
  constexpr GemmLargeMemory memory = gemm_large_memory(S, C, sizeof(T));

  // Phase 1: the ring, and the end of preceding kernels of the stream.
  Ring ring(args, shared);
  if constexpr (C.dependent_launch) {
    ring.prefetch_maps();
    wait_for_launch_before();
    let_next_launch_begin();
  }
  GemmLargeGrid grid;
  GemmLargeWork work;

  // Phase 2 of the feeding warp: it feeds the copy engine for all units.
  if constexpr (C.specialised) {
    if (threadIdx.x >= gemm_large_workers(C)) {
      for (int index = 0; find_unit<S, C>(args, index, grid, work); ++index)
        ring.start(gemm_large_span<C>(args, work), work.problem);
      return;
    }
  }

  // Phase 2: per unit the product, sums of shared tiles, and C. First stages load during the previous stores.
  bool found = find_unit<S, C>(args, 0, grid, work);
  if constexpr (!C.specialised)
    if (found) ring.start(gemm_large_span<C>(args, work), work.problem);
  if constexpr (C.stagger > 0)
    if (const int clocks = gemm_large_late_clocks(C, int(blockIdx.x), multiprocessors()); clocks > 0)
      wait_clocks(clocks);
  for (int index = 0; found; ++index) {
    const GemmLargeSpan span = gemm_large_span<C>(args, work);
    if constexpr (S.batch != GemmLargeBatch::none && S.reads_c)
      if (gemm_large_prefetches<C>(args, work)) prefetch_tile<S, C>(args, work);
    Product product(args);
#pragma unroll
    for (int i = 0; i < Product::value_count; ++i) product.value(i) = typename Product::Value{};
    multiply_span<T, S, C>(product, ring, span, shared + memory.sums_offset);
    if constexpr (C.warps_k > 1)
      if (!add_groups<C>(product, shared)) return;
    // Walking blocks compute the unit again, so that no register holds it through the product, as do those of
    // batches.
    if constexpr (gemm_large_walks(C)) {
      found = find_unit<S, C>(args, index + 1, grid, work);
      if constexpr (!C.specialised)
        if (found) ring.start(gemm_large_span<C>(args, work), work.problem);
    }
    if constexpr (gemm_large_walks(C) || S.batch != GemmLargeBatch::none)
      find_unit<S, C>(args, index, grid, work);
    auto* word = reinterpret_cast<unsigned*>(shared + memory.barrier_offset + 16 * C.stages);
    if (combine<C>(product, args, grid, work, word)) store_tile<S, C>(product, args, work);
    if constexpr (!gemm_large_walks(C)) break;
    if (found) find_unit<S, C>(args, index + 1, grid, work);
  }
  ring.finish();
}

}  // namespace tilewright
