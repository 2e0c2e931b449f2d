// Keeps a slot per thread; caller and thread pass it to each other by compare and exchange.
#include "device/thread_pool.hpp"

#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <new>
#include <utility>
#include <vector>

#include "core/host/fork_gate.hpp"
#include "core/host/host_state.hpp"
#include "core/per_thread.hpp"

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace tilewright {
namespace {

// The state of a slot. The caller offers a job; the thread takes it, or the caller takes it back.
enum State : std::uint32_t { idle, offered, taken, ended };

// Threads wait awake this long: calls in Python are 50 us apart, and waking costs 3 to 5 us (2 cores).
constexpr auto awake = std::chrono::microseconds(200);

void pause() {
#if defined(__x86_64__)
  _mm_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

// Returns the slot's state once it is not `state`. A waiting caller soon yields its core, which its thread
// might need. A thread without work does not: beside a spinning thread it would return after milliseconds.
std::uint32_t wait_while(const std::atomic<std::uint32_t>& slot, std::uint32_t state) {
  constexpr int pauses = 20, rounds_before_yielding = 10;
  const auto end = std::chrono::steady_clock::now() + awake;
  for (int round = 0; round == 0 || std::chrono::steady_clock::now() < end; ++round) {
    for (int i = 0; i < pauses; ++i) {
      if (const std::uint32_t now = slot.load(std::memory_order_acquire); now != state) return now;
      pause();
    }
    if (state == taken && round >= rounds_before_yielding) sched_yield();
  }
  slot.wait(state, std::memory_order_acquire);
  return slot.load(std::memory_order_acquire);
}

struct Job {
  ThreadPool::Work work = nullptr;
  void* what = nullptr;
};

// The CPUs of the calling thread.
struct Caller {
  int thread = gettid();
  std::atomic<int> cpu = -1;
};

class alignas(64) Helper {
 public:
  Helper(const Job& job, const Caller& caller, int index) : job_(job), caller_(caller), index_(index) {}

  bool start(const pthread_attr_t& attributes) {
    const auto serve = [](void* helper) -> void* {
      static_cast<Helper*>(helper)->serve();
      return nullptr;
    };
    return pthread_create(&thread_, &attributes, serve, this) == 0;
  }
  // Job and caller must be set.
  void offer() { set(offered); }
  // Returns true if the thread has not taken the job, so that the caller must do it.
  bool take_back() { return take(idle); }
  void wait() const { wait_while(slot_, taken); }
  void end() { set(ended); }
  void join() const { pthread_join(thread_, nullptr); }

 private:
  void set(std::uint32_t state) {
    slot_.store(state, std::memory_order_release);
    slot_.notify_one();
  }
  bool take(std::uint32_t to) {
    std::uint32_t state = offered;
    return slot_.compare_exchange_strong(state, to, std::memory_order_acq_rel);
  }
  void serve() {
    while (wait_while(slot_, idle) != ended) {
      leave_callers_cpu();
      if (take(taken)) {
        job_.work(job_.what, index_);
        set(idle);
      }
    }
  }
  // Moves the thread off its caller's CPU, within the caller's CPUs: if no CPU is idle, the system may wake
  // it there, to run only after the caller's work.
  void leave_callers_cpu() const {
    const int cpu = caller_.cpu.load(std::memory_order_relaxed);
    if (cpu < 0 || sched_getcpu() != cpu) return;
    cpu_set_t usable;
    if (sched_getaffinity(caller_.thread, sizeof usable, &usable) != 0 || CPU_COUNT(&usable) < 2) return;
    CPU_CLR(unsigned(cpu), &usable);
    (void)sched_setaffinity(0, sizeof usable, &usable);
  }

  std::atomic<std::uint32_t> slot_ = idle;
  const Job& job_;
  const Caller& caller_;
  const int index_;
  pthread_t thread_{};
};

}  // namespace

struct ThreadPool::Impl {
  Job job;
  Caller caller;
  std::vector<std::unique_ptr<Helper>> helpers;
  int generation = fork_gate::generation();  // of fork, when the pool was made
  bool is_running = false;

  void grow(int wanted) {
    helpers.reserve(std::size_t(wanted));
    const SignalsBlocked scope;
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    if (const std::size_t bytes = stack_bytes_of_threads(); bytes > 0)
      (void)pthread_attr_setstacksize(&attributes, bytes);
    while (int(helpers.size()) < wanted) {
      auto helper = std::make_unique<Helper>(job, caller, int(helpers.size()) + 1);
      if (!helper->start(attributes)) break;
      helpers.push_back(std::move(helper));
    }
    pthread_attr_destroy(&attributes);
  }
};

ThreadPool::ThreadPool() : impl_(std::make_unique<Impl>()) {}

ThreadPool::~ThreadPool() {
  // A child of fork has no threads to join; at exit during a run, threads may wait for locks of the caller.
  if (impl_->generation != fork_gate::generation() || impl_->is_running) {
    (void)impl_.release();  // NOLINT
    return;
  }
  for (const auto& helper : impl_->helpers) helper->end();
  for (const auto& helper : impl_->helpers) helper->join();
}

ThreadPool& ThreadPool::own() { return PerThread<ThreadPool>::own(); }

bool ThreadPool::own_has_ended() { return PerThread<ThreadPool>::has_ended(); }

int ThreadPool::size() const { return int(impl_->helpers.size()); }

void ThreadPool::run(int count, Work work, void* what) {
  if (size() < count - 1) try {
      impl_->grow(count - 1);
    } catch (const std::bad_alloc&) {
      // The threads that were started do the work together with the caller.
    }
  const int helpers = std::min(count - 1, size());
  auto& all = impl_->helpers;
  impl_->is_running = true;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  impl_->job = {work, what};
  impl_->caller.cpu.store(sched_getcpu(), std::memory_order_relaxed);
  for (int i = 0; i < helpers; ++i) all[std::size_t(i)]->offer();
  work(what, 0);
  for (int index = helpers + 1; index < count; ++index) work(what, index);
  for (int i = helpers; i > 0; --i)
    if (all[std::size_t(i - 1)]->take_back()) work(what, i);
  for (int i = 0; i < helpers; ++i) all[std::size_t(i)]->wait();
  std::atomic_signal_fence(std::memory_order_seq_cst);
  impl_->is_running = false;
}

}  // namespace tilewright
