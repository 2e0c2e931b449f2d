// The instructions of src/kernel/gemm_large/device.cuh, emulated; found before those by the tests that run
// the stencil on the host. Tensor copies take rows of their box apart into chunks of 16 bytes.
#pragma once

#include <array>
#include <cstring>
#include <deque>
#include <functional>
#include <utility>

#include "emulation/gpu.hpp"
#include "kernel/common/copy.cuh"
#include "kernel/common/element.cuh"
#include "kernel/common/mma.cuh"
#include "kernel/gemm_large/config.hpp"

#define __grid_constant__

namespace tilewright {

namespace emulation {

// What the words of a tensor map mean here.
struct Tensor {
  const unsigned char* address;
  long long inner, outer, stride_bytes, box_inner, box_outer, swizzled, element_bytes, matrices, matrix_bytes;
};
static_assert(sizeof(Tensor) <= sizeof(GemmLargeMap));

// Copies that are zero beyond an edge come from here, where they lie ready. `begin` makes all state new.
struct LargeState {
  alignas(16) unsigned char filled[1 << 22];
  std::size_t used = 0;
  // Named barriers of the threads that multiply and of those that write, and how often each of a cluster's
  // threads has been there.
  unsigned long long barriers[2] = {};
  int workers = 0;
  long long waited_clocks = 0;          // by all threads
  std::function<void()> launch_before;  // what the kernel before in the stream has yet to do
  int waits = 0;                        // of threads, for the kernel before
  int next_launches = 0;                // times that a thread which had waited let the next kernel begin
  unsigned parity[2][4][1056] = {};

  unsigned& own_parity(int barrier) { return parity[barrier][cluster_rank()][threadIdx.x]; }

  const void* keep(const void* from, std::size_t valid, std::size_t bytes) {
    if (used + 16 > sizeof(filled)) used = 0;
    unsigned char* place = filled + used;
    used += 16;
    std::memset(place, 0, bytes);
    if (valid > 0) std::memcpy(place, from, valid);
    return place;
  }
};
inline LargeState large;
}  // namespace emulation

inline int read_thread_again() { return static_cast<int>(threadIdx.x); }
inline long long here(long long value) { return value; }
inline void let_next_launch_begin() {
  if (emulation::large.next_launches < emulation::large.waits) ++emulation::large.next_launches;
}
inline void wait_for_launch_before() {
  ++emulation::large.waits;
  if (const auto rest = std::exchange(emulation::large.launch_before, nullptr)) rest();
}
inline void prefetch_map(const GemmLargeMap*) {}
constexpr int emulated_multiprocessors = 3;
inline int multiprocessors() { return emulated_multiprocessors; }
inline void wait_clocks(int clocks) { emulation::large.waited_clocks += clocks; }
inline int uniform_warp() { return emulation::warp_of(); }
inline bool elect_lane() { return emulation::lane_of() == 0; }
template <int Threads>
void sync_workers() {
  const int which = Threads == emulation::large.workers ? 0 : 1;
  unsigned& parity = emulation::large.own_parity(which);
  emulation::barrier_arrive(&emulation::large.barriers[which]);
  emulation::barrier_wait(&emulation::large.barriers[which], parity);
  parity ^= 1;
}
inline void __threadfence() {}
inline unsigned atomicAdd(unsigned* address, unsigned value) {
  const unsigned old = *address;
  *address += value;
  return old;
}
template <class R, class... Rest>
void store_chunk(R* to, R first, Rest... rest) {
  const std::array<R, 1 + sizeof...(Rest)> chunk{first, rest...};
  std::memcpy(to, chunk.data(), sizeof(chunk));
}
inline double flip_sign(double x) { return -x; }

template <int Bytes>
void copy_async_zero_fill(void* shared_place, const void* global, int valid) {
  const void* from = emulation::large.keep(global, static_cast<std::size_t>(valid), Bytes);
  emulation::copy(emulation::Queue::loads, shared_place, from, Bytes, true);
}
template <int Bytes>
void copy_async_whole(void* shared_place, const void* global) {
  emulation::copy(emulation::Queue::loads, shared_place, global, Bytes, true);
}

inline void barrier_arrive_after(unsigned long long* barrier, unsigned, unsigned) {
  emulation::barrier_arrive(barrier);
}
inline void barrier_arrive_at(unsigned long long* barrier, unsigned rank, unsigned, unsigned) {
  emulation::barrier_arrive_at(barrier, rank);
}
inline void sync_cluster() { emulation::sync_cluster(); }
template <class V>
unsigned low_bits(const V&) {
  return 0;
}
inline void prefetch_line(const void*) {}
inline void tensor_load_to(unsigned rank, void* shared_place, const GemmLargeMap* map, int inner, int outer,
                           int problem, unsigned long long* barrier) {
  emulation::Tensor tensor;
  std::memcpy(&tensor, map, sizeof(tensor));
  EXPECT_TRUE(problem < tensor.matrices || (problem == 0 && tensor.matrices == 0)) << problem;
  tensor.address += problem * tensor.matrix_bytes;
  const long long size = tensor.element_bytes, row_bytes = tensor.box_inner * size;
  const auto begin = static_cast<unsigned char*>(shared_place) - shared;
  // The copy engine calls it an illegal instruction.
  EXPECT_TRUE(inner * size % 16 == 0 && begin % 128 == 0) << "a box begins at " << inner << ", to " << begin;
  for (long long r = 0; r < tensor.box_outer; ++r)
    for (long long at = 0; at < row_bytes; at += 16) {
      const long long column = inner + at / size, row = outer + r, left = tensor.inner - column;
      const long long elements = row >= tensor.outer || left <= 0 ? 0 : left < 16 / size ? left : 16 / size;
      const void* from = emulation::large.keep(tensor.address + row * tensor.stride_bytes + column * size,
                                               static_cast<std::size_t>(elements * size), 16);
      auto to = begin + r * row_bytes + at;
      if (tensor.swizzled != 0) to ^= (to >> 7 & 7) << 4;
      emulation::bulk_load_at(rank, shared + to, from, 16, barrier);
    }
}
inline void tensor_load(void* shared_place, const GemmLargeMap* map, int inner, int outer,
                        unsigned long long* barrier) {
  tensor_load_to(emulation::cluster_rank(), shared_place, map, inner, outer, 0, barrier);
}
inline void tensor_load(void* shared_place, const GemmLargeMap* map, int inner, int outer, int problem,
                        unsigned long long* barrier) {
  tensor_load_to(emulation::cluster_rank(), shared_place, map, inner, outer, problem, barrier);
}
template <int Blocks>
void tensor_load_for_all(void* shared_place, const GemmLargeMap* map, int inner, int outer,
                         unsigned long long* barrier) {
  for (unsigned rank = 0; rank < Blocks; ++rank)
    tensor_load_to(rank, shared_place, map, inner, outer, 0, barrier);
}

template <bool ReadOnly, class P>
P read_global(const void* from) {
  P pack;
  std::memcpy(static_cast<void*>(&pack), from, sizeof(P));
  return pack;
}
template <class V>
V read_foreign(const V* from) {
  return *from;
}

}  // namespace tilewright
