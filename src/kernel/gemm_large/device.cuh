// The instructions of the device that large GEMM uses beyond plain C++, as thin wrappers: copies that fill
// with zeros, tensor copies, meetings of warps, blocks and clusters. Tests replace this file by one that does
// the same on the host.
#pragma once

#include "kernel/common/copy.cuh"
#include "kernel/common/element.cuh"
#include "kernel/common/mma.cuh"
#include "kernel/gemm_large/config.hpp"

namespace tilewright {

// The thread's number by an instruction that the compiler does not merge with earlier ones.
__device__ __forceinline__ int read_thread_again() {
  int thread;
  asm volatile("mov.u32 %0, %%tid.x;" : "=r"(thread));
  return thread;
}
// Lets the next kernel of the stream take what this one leaves idle, if it was launched to do so. It begins
// when all blocks have come here or ended. Said after the wait for the kernel before, so that never more than
// two kernels run at once: a next one that is not ours may count on it that all but the last have ended.
__device__ __forceinline__ void let_next_launch_begin() { asm volatile("griddepcontrol.launch_dependents;"); }
// Until the kernels before in the stream have ended and what they wrote can be seen; at once where this one
// was not launched before that.
__device__ __forceinline__ void wait_for_launch_before() {
  asm volatile("griddepcontrol.wait;" ::: "memory");
}
// Has the copy engine fetch what it must know of a tensor, which no kernel writes.
__device__ __forceinline__ void prefetch_map(const GemmLargeMap* map) {
  asm volatile("prefetch.tensormap [%0];" ::"l"(map) : "memory");
}
// The value by an instruction that stays where it stands: what is computed from it is not hoisted out of a
// loop over tiles, where it would hold registers through the main loop.
__device__ __forceinline__ long long here(long long value) {
  long long same;
  asm volatile("mov.b64 %0, %1;" : "=l"(same) : "l"(value));
  return same;
}
// The number of the warp, known to be the same for all its lanes.
__device__ __forceinline__ int uniform_warp() {
  return __shfl_sync(0xffffffffu, int(threadIdx.x) / gemm_large_lanes, 0);
}
// One lane of a warp, chosen so that the compiler knows the branch to be the warp's.
__device__ __forceinline__ bool elect_lane() {
  unsigned chosen;
  asm volatile("{\n .reg .pred p;\n elect.sync _|p, 0xffffffff;\n selp.b32 %0, 1, 0, p;\n}" : "=r"(chosen));
  return chosen != 0;
}
// Barrier of the first `Threads` threads; a warp that feeds the copy engine takes no part.
template <int Threads>
__device__ __forceinline__ void sync_workers() {
  asm volatile("bar.sync 1, %0;" ::"n"(Threads) : "memory");
}

// Multiprocessors of the device, or a few more where their numbers have gaps.
__device__ __forceinline__ int multiprocessors() {
  int count;
  asm("mov.u32 %0, %%nsmid;" : "=r"(count));
  return count;
}
__device__ __forceinline__ void wait_clocks(int clocks) {
  const long long begin = clock64();
  while (clock64() - begin < clocks) __nanosleep(200);
}

// 16 bytes to global memory by one instruction. Where C is not read the compiler else makes two or four
// of it, each of which writes a part of every sector.
__device__ __forceinline__ void store_chunk(double* to, double x, double y) {
  asm volatile("st.global.v2.f64 [%0], {%1, %2};" ::"l"(to), "d"(x), "d"(y));
}
__device__ __forceinline__ void store_chunk(float* to, float x, float y, float z, float w) {
  asm volatile("st.global.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(to), "f"(x), "f"(y), "f"(z), "f"(w));
}

// -x without the FP64 pipe.
__device__ __forceinline__ double flip_sign(double x) {
  return __hiloint2double(__double2hiint(x) ^ 0x80000000, __double2loint(x));
}

// Asynchronous copy of `Bytes`, of which the first `valid` are read and the rest becomes zero.
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

// One box of a tensor map into shared memory; coordinates count the map's elements.
__device__ __forceinline__ void tensor_load(void* shared, const GemmLargeMap* map, int inner, int outer,
                                            unsigned long long* barrier) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3, "
      "%4}], [%2];" ::"r"(shared_address(shared)),
      "l"(map), "r"(shared_address(barrier)), "r"(inner), "r"(outer)
      : "memory");
}
// The same box for all blocks of a cluster, at the same place in each and told to the same barrier of each.
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
// All threads of a cluster that have not ended.
__device__ __forceinline__ void sync_cluster() {
  asm volatile("barrier.cluster.arrive.release;\n barrier.cluster.wait.acquire;" ::: "memory");
}
// Arrives when `known`, and hence the read that it comes from, is there; `none` is zero in a way that the
// compiler cannot know. Reads of one warp return in the order in which they were issued.
__device__ __forceinline__ void barrier_arrive_after(unsigned long long* barrier, unsigned known,
                                                     unsigned none) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(barrier) | (known & none))
               : "memory");
}
// The same at the barrier that lies there in block `rank` of the cluster.
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

// A read of 4 to 16 bytes in one piece; read_only goes by the read-only path.
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

// Sums that another block wrote during this launch: past the first-level cache.
template <class R>
__device__ __forceinline__ R read_foreign(const R* from) {
  return __ldcg(from);
}

}  // namespace tilewright
