// Emulates a multiprocessor on the host as far as the stencils need one: a block's threads are fibres that
// run in a random order and yield where threads wait for each other; asynchronous copies happen either at
// once or as late as the program's waits allow, and must stay inside the memory they were given. It models
// neither time nor caches.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace tilewright::emulation {

struct Index {
  unsigned x = 0;
};
extern Index thread_index, block_index, grid_size;

enum class Copies { at_once, late };

struct Region {
  const void* begin;
  std::size_t bytes;
};

// Runs `kernel` once per thread of each block. Returns the first error, or "".
struct Launch {
  unsigned blocks = 1, threads = 1, shared_bytes = 0;
  unsigned cluster = 1;  // blocks of a cluster
  Copies copies = Copies::at_once;
  std::vector<Region> global;  // memory that asynchronous copies may touch
  unsigned seed = 1;
};
std::string run(const Launch& launch, const std::function<void()>& kernel);

// Returns the running block's rank in its cluster.
unsigned cluster_rank();

void sync_threads();
// Waits for all threads of the cluster that have not ended.
void sync_cluster();
void sync_warp();
unsigned warp_sum(unsigned value);
// Returns the value of each lane of the warp.
std::array<unsigned, 32> warp_exchange(unsigned value);
// Copies at once to the same place of the shared memory of another block of the cluster, and reports the
// bytes to that block's barrier.
void send_to(unsigned rank, void* place, const void* from, std::size_t bytes, void* barrier);
int compare_and_swap(int* address, int expected, int value);
template <class T>
T raise_to(T* address, T value) {
  return std::exchange(*address, std::max(*address, value));
}

// One kind of asynchronous copies of a thread: those into shared memory, or stores out of it.
enum class Queue { loads, stores };
void copy(Queue queue, void* to, const void* from, std::size_t bytes, bool to_shared);
void commit(Queue queue);
void wait(Queue queue, int pending);

void barrier_init(void* barrier, unsigned arrivals);
void barrier_expect(void* barrier, unsigned bytes);
void barrier_arrive(void* barrier);
// Arrives at the barrier at the same place in another block of the cluster.
void barrier_arrive_at(void* barrier, unsigned rank);
// Arrives when the loads that this thread has issued so far have arrived.
void arrive_after_copies(void* barrier);
void barrier_wait(void* barrier, unsigned parity);
// Lets other threads run until the condition holds; returns false if no thread makes progress any more.
bool wait_until(const std::function<bool()>& is_so);
// Notes an event that other threads may wait for.
void got_on();
void bulk_load(void* to, const void* from, unsigned bytes, void* barrier);
// Loads to the same place, and reports to the same barrier, of the block `rank` of the cluster.
void bulk_load_at(unsigned rank, void* to, const void* from, unsigned bytes, void* barrier);

}  // namespace tilewright::emulation

namespace tilewright {
extern unsigned char shared[];  // of the running block
}

#define __device__
#define __global__
#define __shared__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __align__(bytes) __attribute__((aligned(bytes)))
#define threadIdx ::tilewright::emulation::thread_index
#define blockIdx ::tilewright::emulation::block_index
#define gridDim ::tilewright::emulation::grid_size
#define __syncthreads ::tilewright::emulation::sync_threads
#define __syncwarp ::tilewright::emulation::sync_warp
#define atomicCAS ::tilewright::emulation::compare_and_swap
#define atomicMax ::tilewright::emulation::raise_to
#define __double_as_longlong(x) std::bit_cast<long long>(x)
