// Problems of their own sizes in one warp's ring of bytes in shared memory: the next ones are loaded while
// one is multiplied, each taking what its sizes need. Warps do not wait for each other.
#pragma once

#include "kernel/gemm_small/tile.cuh"

namespace tilewright {

template <class T, GemmSmallShape S, GemmSmallConfig C>
struct GemmSmallRing {
  using Tile = GemmSmallTile<T, S, C>;
  using Which = typename Tile::Which;
  static constexpr GemmSmallMemory memory = gemm_small_memory(S, C, sizeof(T));
  static constexpr int slots = gemm_small_ring_slots, capacity = memory.a_bytes, warps = C.threads / 32;
  // Each thread arrives when its copies have landed, and one more arrival counts the copy engine's bytes.
  static constexpr int arrivals = 1 + 32;

  const Tile& all;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  unsigned loaded = 0, multiplied = 0;  // problems so far; those between them lie in the ring
  int head = 0;                         // behind the youngest of them
  int tail = 0;                         // start of the oldest

  __device__ __forceinline__ unsigned long long* barrier(unsigned problem) const {
    return reinterpret_cast<unsigned long long*>(all.shared + memory.barrier_offset) + warp * slots +
           problem % slots;
  }
  // Returns the start of a problem in the ring.
  __device__ __forceinline__ int& begin(unsigned problem) const {
    auto* const begins =
        reinterpret_cast<int*>(all.shared + memory.barrier_offset + warps * slots * sizeof(long long));
    return begins[warp * slots + problem % slots];
  }
  // Returns the byte of shared memory of place `at` of the ring.
  __device__ __forceinline__ int in_shared(int at) const { return warp * capacity + at; }

  __device__ __forceinline__ void prepare() const {
    if (lane != 0) return;
    for (int slot = 0; slot < slots; ++slot) barrier_init(barrier(slot), arrivals);
    barrier_init_fence();
  }

  // Returns a place for `bytes`, or -1 if there is none yet. An empty ring holds any problem.
  __device__ __forceinline__ int room(int bytes) const {
    if (loaded == multiplied) return 0;
    if (head <= tail) return head + bytes <= tail ? head : -1;
    if (head + bytes <= capacity) return head;
    return bytes <= tail ? 0 : -1;
  }

  // Loads one operand, a matrix without gaps, by one thread's bulk copy. Returns the bytes to be reported.
  template <Which X>
  __device__ __forceinline__ unsigned bring(int at, const GemmSmallEntry<T>& e,
                                            const GemmSmallSizes& own) const {
    const T* const from = Tile::template matrix<X>(e);
    if (from == nullptr) return 0;
    T* const to = all.template in_ring<X>(in_shared(at), own);
    const int rows = Tile::template own_rows<X>(own), columns = Tile::template own_columns<X>(own);
    const long long ld = Tile::template own_ld<X>(own);
    if (ld == rows && at_piece(from))
      return lane == int(X) ? matrix_bulk(to, from, rows * columns, barrier(loaded)) : 0;
    elements_async(to, from, rows, columns, ld, lane, 32);
    return 0;
  }

  // Starts to load problem q of the block; returns false if the ring has no room yet.
  __device__ __forceinline__ bool load(int q) {
    const GemmSmallEntry<T>& e = all.entry({}, q);
    const GemmSmallSizes own = all.entries().own_sizes(0, q);
    // A problem without work may have any sizes.
    const int bytes =
        e.c == nullptr ? 0 : gemm_small_ring_bytes(S, C, int(own.m), int(own.n), int(own.k), int(sizeof(T)));
    const int at = room(bytes);
    if (at < 0) return false;
    if (loaded == multiplied) tail = at;
    if (lane == 0) begin(loaded) = at;
    unsigned reported = bring<Tile::a>(at, e, own) + bring<Tile::b>(at, e, own);
    if constexpr (Tile::loads_c) reported += bring<Tile::c>(at, e, own);
    copy_async_arrive(barrier(loaded));
    reported = warp_sum(reported);
    if (lane == 0) barrier_arrive_expect(barrier(loaded), reported);
    head = at + bytes;
    ++loaded;
    return true;
  }

  // Multiplies problem q of the tile, the oldest in the ring.
  __device__ __forceinline__ void multiply(long long tile, int q) {
    barrier_wait(barrier(multiplied), multiplied / slots % 2);
    const GemmSmallEntry<T>& e = all.entry({}, q);
    const GemmSmallSizes own = all.entries().own_sizes(0, q);
    if (e.c != nullptr)
      all.multiply_own({tile, {in_shared(begin(multiplied)), 0, 0}, q, e, own, GemmSmallOwnSizes(own)});
    copy_engine_fence();  // the next copies overwrite its place
    __syncwarp();
    if (++multiplied != loaded) tail = begin(multiplied);
  }

  // Computes this warp's part of a tile.
  __device__ __forceinline__ void run(long long tile) {
    constexpr int share = ceil_div(C.matrices_per_block, warps);
    const int here = all.problems(tile), first = warp * share;
    const int end = first + share < here ? first + share : here;
    int next = first;
    for (int q = first; q < end; ++q) {
      while (next < end && loaded - multiplied < slots && load(next)) ++next;
      multiply(tile, q);
    }
  }
};

}  // namespace tilewright
