// Implements fibres, barriers and queues of copies.
#include "emulation/gpu.hpp"

#include <fmt/format.h>
#include <ucontext.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <random>

namespace tilewright {

alignas(128) unsigned char shared[232448];

namespace emulation {

Index thread_index, block_index, grid_size;

namespace {

constexpr std::size_t stack_bytes = 64 << 10;
constexpr int patience = 3;  // rounds of all threads without any progress

struct Copy {
  void* to;
  const void* from;
  std::size_t bytes;
};
struct Groups {
  std::vector<Copy> open;
  std::deque<std::vector<Copy>> closed;
};
struct Fibre {
  ucontext_t context{};
  std::unique_ptr<char[]> stack;
  bool done = false;
  Groups queues[2];
};
struct Meeting {
  unsigned arrived = 0;
  unsigned generation = 0;
  unsigned sum = 0, last_sum = 0;  // of the members' values
};
struct Barrier {
  unsigned arrivals = 0, pending = 0;
  long long bytes = 0;
  unsigned phase = 0;
  std::vector<Copy> copies;                 // by the copy engine, which counts bytes
  std::vector<std::vector<Copy>> arriving;  // by threads, each group an arrival
};

struct Block {
  unsigned index = 0;
  std::vector<unsigned char> image;  // copy of its shared memory while another block of the cluster runs
  const Launch* launch = nullptr;
  const std::function<void()>* kernel = nullptr;
  std::vector<Fibre> fibres;
  ucontext_t scheduler{};
  unsigned running = 0;
  Meeting all;
  std::vector<Meeting> warps;
  std::vector<std::array<unsigned, 32>> brought;  // values of each lane of each warp
  std::map<void*, Barrier> barriers;
  std::string fault;
  bool got_on = false;  // some thread made progress since this was cleared
};
Block* block = nullptr;
std::vector<Block>* together = nullptr;  // the blocks of the running cluster
Meeting of_cluster;

// Makes `next` the running block: loads its shared memory and runs its threads.
void enter(Block& next) {
  if (block == &next) return;
  const std::size_t bytes = next.image.size();
  if (block != nullptr) std::memcpy(block->image.data(), shared, bytes);
  std::memcpy(shared, next.image.data(), bytes);
  block = &next;
  block_index.x = next.index;
}
// Translates an address in the running block's shared memory to that of another block.
void* place_in(Block& other, void* place) {
  if (&other == block) return place;
  return other.image.data() + (static_cast<unsigned char*>(place) - shared);
}

void complain(const std::string& text) {
  if (block->fault.empty()) block->fault = fmt::format("thread {}: {}", thread_index.x, text);
}

void give_way() {
  const unsigned self = block->running;
  swapcontext(&block->fibres[self].context, &block->scheduler);
}

void meet(Meeting& meeting, unsigned members) {
  const unsigned generation = meeting.generation;
  block->got_on = true;
  if (++meeting.arrived == members) {
    meeting.arrived = 0;
    ++meeting.generation;
    meeting.last_sum = meeting.sum;
    meeting.sum = 0;
  }
  while (meeting.generation == generation && block->fault.empty()) give_way();
}

// True if a copy is valid.
bool check(const void* global, const void* in_shared, std::size_t bytes) {
  const auto* place = static_cast<const unsigned char*>(in_shared);
  if (place < shared || place + bytes > shared + block->launch->shared_bytes)
    complain(fmt::format("{} bytes at {} of shared memory", bytes, place - shared));
  if (reinterpret_cast<std::uintptr_t>(global) % std::min<std::size_t>(bytes, 16) != 0 ||
      reinterpret_cast<std::uintptr_t>(in_shared) % std::min<std::size_t>(bytes, 16) != 0 || bytes % 4 != 0)
    complain(fmt::format("a copy of {} bytes is not aligned", bytes));
  const auto* from = static_cast<const char*>(global);
  for (const Region& region : block->launch->global) {
    const auto* begin = static_cast<const char*>(region.begin);
    if (from >= begin && from + bytes <= begin + region.bytes) return block->fault.empty();
  }
  complain(fmt::format("a copy of {} bytes leaves global memory", bytes));
  return false;
}

void carry_out(const Copy& copy) { std::memcpy(copy.to, copy.from, copy.bytes); }

Groups& groups(Queue queue) { return block->fibres[block->running].queues[queue == Queue::loads ? 0 : 1]; }

void complete(Barrier& barrier) {
  if (static_cast<int>(barrier.pending) < 0) complain("a barrier had more arrivals than it waits for");
  if (barrier.pending != 0 || barrier.bytes != 0) return;
  barrier.phase ^= 1;
  barrier.pending = barrier.arrivals;
  block->got_on = true;
}

void fibre_main() {
  (*block->kernel)();
  Fibre& self = block->fibres[block->running];
  for (const Groups& queue : self.queues) {
    std::size_t left = queue.open.size();
    for (const auto& group : queue.closed) left += group.size();
    if (left > 0) complain("copies were on their way at the end");
  }
  self.done = true;
  block->got_on = true;
  give_way();
}

void start_fibres(Block& b) {
  for (Fibre& fibre : b.fibres) {
    fibre.stack = std::make_unique<char[]>(stack_bytes);
    getcontext(&fibre.context);
    fibre.context.uc_stack.ss_sp = fibre.stack.get();
    fibre.context.uc_stack.ss_size = stack_bytes;
    fibre.context.uc_link = nullptr;
    makecontext(&fibre.context, fibre_main, 0);
  }
}

// Runs every thread of the block until it waits. Returns false if all have ended.
bool run_round(Block& b, std::vector<unsigned>& order, std::mt19937& random) {
  bool left = false;
  enter(b);
  std::shuffle(order.begin(), order.end(), random);
  for (const unsigned i : order) {
    if (b.fibres[i].done) continue;
    left = true;
    b.running = i;
    thread_index.x = i;
    swapcontext(&b.scheduler, &b.fibres[i].context);
  }
  return left;
}

// Returns the first fault, with its block.
std::string run_cluster(std::vector<Block>& blocks, std::mt19937& random) {
  together = &blocks;
  of_cluster = {};
  block = nullptr;
  for (Block& b : blocks) start_fibres(b);
  std::vector<unsigned> order(blocks.front().fibres.size());
  for (unsigned i = 0; i < order.size(); ++i) order[i] = i;
  std::vector<std::size_t> turns(blocks.size());
  for (std::size_t i = 0; i < turns.size(); ++i) turns[i] = i;
  int idle = 0;
  for (bool left = true; left;) {
    left = false;
    bool got_on = false;
    for (Block& b : blocks) b.got_on = false;
    // Sometimes one falls behind, so that another gets ahead by a stage.
    std::shuffle(turns.begin(), turns.end(), random);
    const std::size_t late = random() % (2 * blocks.size());
    for (const std::size_t i : turns)
      if (i == late && blocks.size() > 1)
        left = true, got_on = true;
      else
        left = run_round(blocks[i], order, random) || left;
    for (const Block& b : blocks) got_on = got_on || b.got_on;
    idle = got_on ? 0 : idle + 1;
    if (idle > patience) complain("no thread gets on");
    for (const Block& b : blocks)
      if (!b.fault.empty()) return fmt::format("block {}, {}", b.index, b.fault);
  }
  return {};
}

// The shared memory of a block that has ended may belong to another block.
void expect_alive(const Block& b) {
  const auto ended = [](const Fibre& fibre) { return fibre.done; };
  if (std::all_of(b.fibres.begin(), b.fibres.end(), ended)) complain("a block that has ended is reached");
}

unsigned threads_left() {
  unsigned left = 0;
  for (const Block& b : *together)
    for (const Fibre& fibre : b.fibres) left += fibre.done ? 0 : 1;
  return left;
}

}  // namespace

std::string run(const Launch& launch, const std::function<void()>& kernel) {
  std::mt19937 random(launch.seed);
  grid_size.x = launch.blocks;
  std::memset(shared, 0xFF, sizeof(shared));  // initially NaN, as the images are
  if (launch.blocks % launch.cluster != 0) return "the grid is no whole number of clusters";
  for (unsigned first = 0; first < launch.blocks; first += launch.cluster) {
    std::vector<Block> blocks(launch.cluster);
    for (unsigned rank = 0; rank < launch.cluster; ++rank) {
      Block& here = blocks[rank];
      here.index = first + rank;
      here.image.assign(launch.shared_bytes, 0xFF);
      here.launch = &launch;
      here.kernel = &kernel;
      here.fibres.resize(launch.threads);
      here.warps.resize((launch.threads + 31) / 32);
      here.brought.resize(here.warps.size());
    }
    const std::string fault = run_cluster(blocks, random);
    block = nullptr;
    if (!fault.empty()) return fault;
  }
  return {};
}

unsigned cluster_rank() { return block->index % block->launch->cluster; }

void sync_threads() { meet(block->all, block->launch->threads); }
// Members are counted on every check, since some end without arriving.
void sync_cluster() {
  const unsigned generation = of_cluster.generation;
  block->got_on = true;
  ++of_cluster.arrived;
  while (of_cluster.generation == generation && block->fault.empty()) {
    if (of_cluster.arrived == threads_left()) {
      of_cluster.arrived = 0;
      ++of_cluster.generation;
      block->got_on = true;
    } else {
      give_way();
    }
  }
}
void sync_warp() { meet(block->warps[thread_index.x / 32], 32); }
unsigned warp_sum(unsigned value) {
  Meeting& warp = block->warps[thread_index.x / 32];
  warp.sum += value;
  sync_warp();
  return warp.last_sum;
}

std::array<unsigned, 32> warp_exchange(unsigned value) {
  std::array<unsigned, 32>& all = block->brought[thread_index.x / 32];
  all[thread_index.x % 32] = value;
  sync_warp();
  const std::array<unsigned, 32> result = all;
  sync_warp();  // before any lane overwrites its value
  return result;
}
void send_to(unsigned rank, void* place, const void* from, std::size_t bytes, void* barrier) {
  Block& other = together->at(rank);
  expect_alive(other);
  std::memcpy(place_in(other, place), from, bytes);
  Barrier& b = other.barriers.at(barrier);
  b.bytes -= static_cast<long long>(bytes);
  complete(b);
}

int compare_and_swap(int* address, int expected, int value) {
  const int old = *address;
  if (old == expected) *address = value;
  return old;
}

void copy(Queue queue, void* to, const void* from, std::size_t bytes, bool to_shared) {
  const bool may = to_shared ? check(from, to, bytes) : check(to, from, bytes);
  if (queue == Queue::stores && bytes % 16 != 0) complain(fmt::format("a bulk store of {} bytes", bytes));
  if (!may) return;
  if (block->launch->copies == Copies::at_once)
    carry_out({to, from, bytes});
  else
    groups(queue).open.push_back({to, from, bytes});
}
void commit(Queue queue) {
  Groups& all = groups(queue);
  all.closed.push_back(std::move(all.open));
  all.open.clear();
}
void wait(Queue queue, int pending) {
  Groups& all = groups(queue);
  while (all.closed.size() > static_cast<std::size_t>(pending)) {
    for (const Copy& one : all.closed.front()) carry_out(one);
    all.closed.pop_front();
  }
}

void barrier_init(void* barrier, unsigned arrivals) {
  block->barriers[barrier] = {arrivals, arrivals, 0, 0, {}};
}
void barrier_expect(void* barrier, unsigned bytes) { block->barriers.at(barrier).bytes += bytes; }
void barrier_arrive(void* barrier) {
  Barrier& b = block->barriers.at(barrier);
  --b.pending;
  complete(b);
}
void barrier_arrive_at(void* barrier, unsigned rank) {
  expect_alive(together->at(rank));
  Barrier& b = together->at(rank).barriers.at(barrier);
  --b.pending;
  complete(b);
}
void arrive_after_copies(void* barrier) {
  Groups& all = groups(Queue::loads);
  std::vector<Copy> copies = std::move(all.open);
  all.open.clear();
  for (const auto& group : all.closed) copies.insert(copies.end(), group.begin(), group.end());
  all.closed.clear();
  if (block->launch->copies == Copies::at_once) return barrier_arrive(barrier);
  block->barriers.at(barrier).arriving.push_back(std::move(copies));
}
void bulk_load(void* to, const void* from, unsigned bytes, void* barrier) {
  bulk_load_at(cluster_rank(), to, from, bytes, barrier);
}
void bulk_load_at(unsigned rank, void* to, const void* from, unsigned bytes, void* barrier) {
  if (!check(from, to, bytes)) return;
  if (bytes % 16 != 0 || reinterpret_cast<std::uintptr_t>(from) % 16 != 0)
    complain(fmt::format("a bulk copy of {} bytes is not aligned", bytes));
  Block& other = together->at(rank);
  expect_alive(other);
  Barrier& b = other.barriers.at(barrier);
  if (block->launch->copies == Copies::late) {  // a thread of that block makes the copy
    b.copies.push_back({to, from, bytes});
    return;
  }
  carry_out({place_in(other, to), from, bytes});
  b.bytes -= bytes;
  complete(b);
}
void barrier_wait(void* barrier, unsigned parity) {
  Barrier& b = block->barriers.at(barrier);
  while (b.phase == parity && block->fault.empty()) {
    // Late copies arrive when a thread waits for them.
    for (const Copy& one : b.copies) {
      carry_out(one);
      b.bytes -= static_cast<long long>(one.bytes);
      block->got_on = true;
    }
    b.copies.clear();
    for (const auto& group : b.arriving) {
      for (const Copy& one : group) carry_out(one);
      --b.pending;
      block->got_on = true;
    }
    b.arriving.clear();
    complete(b);
    if (b.phase == parity) give_way();
  }
}

bool wait_until(const std::function<bool()>& is_so) {
  while (!is_so()) {
    if (!block->fault.empty()) return false;
    give_way();
  }
  return true;
}

void got_on() { block->got_on = true; }

}  // namespace emulation
}  // namespace tilewright
