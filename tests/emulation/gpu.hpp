// A multiprocessor on the host, as far as the stencils need one: a block's threads are fibres that run in a
// random order and give way where threads wait for each other; asynchronous copies happen either at once or
// as late as the program's waits allow, and must stay inside the memory they were given. It knows no time and
// no caches.
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

// Runs `kernel` once per thread of each block. Returns what went wrong, "" = nothing.
struct Launch {
  unsigned blocks = 1, threads = 1, shared_bytes = 0;
  unsigned cluster = 1;  // blocks that run together
  Copies copies = Copies::at_once;
  std::vector<Region> global;  // what asynchronous copies may touch
  unsigned seed = 1;
};
std::string run(const Launch& launch, const std::function<void()>& kernel);

// The running block's place in its cluster.
unsigned cluster_rank();

void sync_threads();
// All threads of the cluster that have not ended.
void sync_cluster();
void sync_warp();
unsigned warp_sum(unsigned value);
// What each lane of the warp brought.
std::array<unsigned, 32> warp_exchange(unsigned value);
// To the same place of the shared memory of another block of the cluster, at once, and told to its barrier.
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
// At the barrier that lies there in another block of the cluster.
void barrier_arrive_at(void* barrier, unsigned rank);
// An arrival that happens when the loads have come that this thread has asked for so far.
void arrive_after_copies(void* barrier);
void barrier_wait(void* barrier, unsigned parity);
// Lets other threads run until it is so; false where nobody gets on any more.
bool wait_until(const std::function<bool()>& is_so);
// Something that others wait for has happened.
void got_on();
void bulk_load(void* to, const void* from, unsigned bytes, void* barrier);
// To the same place, and told to the same barrier, of the block `rank` of the cluster.
void bulk_load_at(unsigned rank, void* to, const void* from, unsigned bytes, void* barrier);

}  // namespace tilewright::emulation

namespace tilewright {
extern unsigned char shared[];  // of the block that runs
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
