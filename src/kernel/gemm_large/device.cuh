// Device instructions of large GEMM: copies that fill with zeros, tensor copies, barriers of warps, blocks
// and clusters. Tests replace this file by a host version.
#pragma once

#include "kernel/common/copy.cuh"
#include "kernel/common/element.cuh"
#include "kernel/common/mma.cuh"
#include "kernel/gemm_large/config.hpp"

namespace tilewright {

// Returns the thread's number by an instruction that the compiler does not merge with earlier ones.
__device__ __forceinline__ int read_thread_again() {
  int thread;
  asm volatile("mov.u32 %0, %%tid.x;" : "=r"(thread));
  return thread;
}
// Lets the next kernel of the stream start on idle resources, if it was launched so; it starts when all
// blocks have called this or ended. Called after waiting for the preceding kernel, so that at most two
// kernels run at once: others may rely on that.
__device__ __forceinline__ void let_next_launch_begin() { asm volatile("griddepcontrol.launch_dependents;"); }
// Waits for the stream's preceding kernels and their writes; returns at once for an ordinary launch.
__device__ __forceinline__ void wait_for_launch_before() {
  asm volatile("griddepcontrol.wait;" ::: "memory");
}
// Prefetches a tensor map, which no kernel writes.
__device__ __forceinline__ void prefetch_map(const GemmLargeMap* map) {
  asm volatile("prefetch.tensormap [%0];" ::"l"(map) : "memory");
}
// Fetches the line of 128 bytes that holds the address into L2.
__device__ __forceinline__ void prefetch_line(const void* address) {
  asm volatile("prefetch.global.L2 [%0];" ::"l"(address));
}
// Returns the value by an instruction that keeps its place, so that what depends on it is not hoisted out of
// a loop over tiles, where it would occupy registers.
__device__ __forceinline__ long long here(long long value) {
  long long same;
  asm volatile("mov.b64 %0, %1;" : "=l"(same) : "l"(value));
  return same;
}
// Returns the warp's number, known to be uniform in the warp.
__device__ __forceinline__ int uniform_warp() {
  return __shfl_sync(0xffffffffu, int(threadIdx.x) / gemm_large_lanes, 0);
}
// Selects one lane of a warp in a branch that the compiler knows to be uniform.
__device__ __forceinline__ bool elect_lane() {
  unsigned chosen;
  asm volatile("{\n .reg .pred p;\n elect.sync _|p, 0xffffffff;\n selp.b32 %0, 1, 0, p;\n}" : "=r"(chosen));
  return chosen != 0;
}
// Barrier of the first `Threads` threads, without a warp that feeds the copy engine.
template <int Threads>
__device__ __forceinline__ void sync_workers() {
  asm volatile("bar.sync 1, %0;" ::"n"(Threads) : "memory");
}

// Returns the device's multiprocessors, or slightly more if their numbers have gaps.
__device__ __forceinline__ int multiprocessors() {
  int count;
  asm("mov.u32 %0, %%nsmid;" : "=r"(count));
  return count;
}
__device__ __forceinline__ void wait_clocks(int clocks) {
  const long long begin = clock64();
  while (clock64() - begin < clocks) __nanosleep(200);
}

// Stores 16 bytes by one instruction. The compiler would split it into two or four if C is not read.
__device__ __forceinline__ void store_chunk(double* to, double x, double y) {
  asm volatile("st.global.v2.f64 [%0], {%1, %2};" ::"l"(to), "d"(x), "d"(y));
}
__device__ __forceinline__ void store_chunk(float* to, float x, float y, float z, float w) {
  asm volatile("st.global.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(to), "f"(x), "f"(y), "f"(z), "f"(w));
}

// Returns -x without using the FP64 pipe.
__device__ __forceinline__ double flip_sign(double x) {
  return __hiloint2double(__double2hiint(x) ^ 0x80000000, __double2loint(x));
}

// Copies `Bytes` asynchronously: reads the first `valid` and fills the rest with zeros.
template <int Bytes>
__device__ __forceinline__ void copy_async_zero_fill(void* shared, const void* global, int valid) {
  if constexpr (Bytes == 16)
    asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;" ::"r"(shared_address(shared)),
                 "l"(global), "r"(valid)
                 : "memory");
  else
    asm volatile("cp.async.ca.shared.global.L2::128B [%0], [%1], %2, %3;" ::"r"(shared_address(shared)),
                 "l"(global), "n"(Bytes), "r"(valid)
                 : "memory");
}
template <int Bytes>
__device__ __forceinline__ void copy_async_whole(void* shared, const void* global) {
  if constexpr (Bytes == 16)
    asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16;" ::"r"(shared_address(shared)),
                 "l"(global)
                 : "memory");
  else
    asm volatile("cp.async.ca.shared.global.L2::128B [%0], [%1], %2;" ::"r"(shared_address(shared)),
                 "l"(global), "n"(Bytes)
                 : "memory");
}

// Loads one box of a tensor map into shared memory; coordinates count the map's elements.
__device__ __forceinline__ void tensor_load(void* shared, const GemmLargeMap* map, int inner, int outer,
                                            unsigned long long* barrier) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3, "
      "%4}], [%2];" ::"r"(shared_address(shared)),
      "l"(map), "r"(shared_address(barrier)), "r"(inner), "r"(outer)
      : "memory");
}
// Loads one box of matrix `problem` of a batch.
__device__ __forceinline__ void tensor_load(void* shared, const GemmLargeMap* map, int inner, int outer,
                                            int problem, unsigned long long* barrier) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, "
      "%5}], [%2];" ::"r"(shared_address(shared)),
      "l"(map), "r"(shared_address(barrier)), "r"(inner), "r"(outer), "r"(problem)
      : "memory");
}
// Loads the same box for all blocks of a cluster, to the same place and barrier in each.
template <int Blocks>
__device__ __forceinline__ void tensor_load_for_all(void* shared, const GemmLargeMap* map, int inner,
                                                    int outer, unsigned long long* barrier) {
  constexpr unsigned short everybody = (1 << Blocks) - 1;
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster "
      "[%0], [%1, {%3, %4}], [%2], %5;" ::"r"(shared_address(shared)),
      "l"(map), "r"(shared_address(barrier)), "r"(inner), "r"(outer), "h"(everybody)
      : "memory");
}
// Synchronizes the threads of a cluster that have not ended.
__device__ __forceinline__ void sync_cluster() {
  asm volatile("barrier.cluster.arrive.release;\n barrier.cluster.wait.acquire;" ::: "memory");
}
// Arrives after the read `known` (a warp's reads return in order); the compiler does not know `none` is 0.
__device__ __forceinline__ void barrier_arrive_after(unsigned long long* barrier, unsigned known,
                                                     unsigned none) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(barrier) | (known & none))
               : "memory");
}
// The same at that barrier in block `rank` of the cluster.
__device__ __forceinline__ void barrier_arrive_at(unsigned long long* barrier, unsigned rank, unsigned known,
                                                  unsigned none) {
  asm volatile(
      "{\n .reg .b32 there;\n mapa.shared::cluster.u32 there, %0, %1;\n"
      " mbarrier.arrive.release.cluster.shared::cluster.b64 _, [there];\n}" ::"r"(shared_address(barrier) |
                                                                                  (known & none)),
      "r"(rank)
      : "memory");
}
__device__ __forceinline__ unsigned low_bits(float x) { return __float_as_uint(x); }
__device__ __forceinline__ unsigned low_bits(double x) { return static_cast<unsigned>(__double2loint(x)); }
template <class R>
__device__ __forceinline__ unsigned low_bits(const Complex<R>& x) {
  return low_bits(x.im);
}

// Reads 4 to 16 bytes by one instruction, with ReadOnly through the read-only path.
template <bool ReadOnly, class Words, class P>
__device__ __forceinline__ void read_words(P& pack, const void* from) {
  const Words* source = static_cast<const Words*>(from);
  Words words;
  if constexpr (ReadOnly)
    words = __ldg(source);
  else
    words = *source;
  pack = *reinterpret_cast<const P*>(&words);
}
template <bool ReadOnly, class P>
__device__ __forceinline__ P read_global(const void* from) {
  P pack;
  if constexpr (sizeof(P) == 16)
    read_words<ReadOnly, uint4>(pack, from);
  else if constexpr (sizeof(P) == 8)
    read_words<ReadOnly, uint2>(pack, from);
  else
    read_words<ReadOnly, unsigned>(pack, from);
  return pack;
}

// Reads sums that another block wrote during this launch, bypassing L1.
template <class R>
__device__ __forceinline__ R read_foreign(const R* from) {
  return __ldcg(from);
}

}  // namespace tilewright
