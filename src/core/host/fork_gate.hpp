// Makes fork safe beside other threads: it waits until none is within a Section, because a lock held, or an
// initialisation begun, by another thread would stay so for ever in the child. Every lock and every static of
// the library that calls reach is a Mutex or a Once; nothing else registers with pthread_atfork. The end of
// the process waits likewise, up to two minutes, because what calls use is destroyed then.
#pragma once

#include <atomic>
#include <mutex>
#include <new>
#include <shared_mutex>
#include <utility>

#include "core/host/host_state.hpp"

namespace tilewright {

namespace fork_gate {

// Calls come in pairs on one thread; they nest. fork waits until other threads have left.
void enter() noexcept;
void leave() noexcept;

// Must be called after loading a library that may register fork handlers itself, so that this one's,
// registered last, run before a handler that ends the library's threads.
void go_first() noexcept;

// True if the calling thread is within a Section.
bool is_within() noexcept;

// Returns the number of forks since the library was loaded. Threads started at another number are gone.
int generation() noexcept;

// True if this process is, or descends from, a child of a process that had several threads.
bool threads_were_lost() noexcept;

// While a Section lives, no fork happens and the thread is not cancelled.
class Section {
 public:
  Section() noexcept { enter(); }
  ~Section() { leave(); }
  Section& operator=(Section&&) = delete;

 private:
  NoCancel uncancelled_;
};

}  // namespace fork_gate

// A mutex that is never left locked in a child of fork by a thread that does not exist there. Do not use it
// for locks held while matrices are multiplied: fork would wait for them.
template <class M>
class ForkSafe {
 public:
  constexpr ForkSafe() = default;
  void lock() {
    fork_gate::enter();
    mutex_.lock();
  }
  bool try_lock() {
    fork_gate::enter();
    if (mutex_.try_lock()) return true;
    fork_gate::leave();
    return false;
  }
  void unlock() {
    mutex_.unlock();
    fork_gate::leave();
  }
  void lock_shared() {
    fork_gate::enter();
    mutex_.lock_shared();
  }
  void unlock_shared() {
    mutex_.unlock_shared();
    fork_gate::leave();
  }

 private:
  M mutex_;
};

// A mutex that may be held while a GPU works: fork does not wait for it, and it is free in the child. The
// data that it guards is of no use to a child, since a GPU's driver does not survive fork.
class LongMutex {
 public:
  void lock() {
    renew();
    mutex_.lock();
  }
  bool try_lock() {
    renew();
    return mutex_.try_lock();
  }
  void unlock() { mutex_.unlock(); }

 private:
  static constexpr int renewing = -1;
  void renew() {
    const int now = fork_gate::generation();
    for (int was = generation_.load(std::memory_order_acquire); was != now;) {
      if (was == renewing || !generation_.compare_exchange_weak(was, renewing)) {
        was = generation_.load(std::memory_order_acquire);
        continue;
      }
      new (&mutex_) std::mutex;
      generation_.store(was = now, std::memory_order_release);
    }
  }
  std::mutex mutex_;
  std::atomic<int> generation_ = fork_gate::generation();
};

using Mutex = ForkSafe<std::mutex>;
using SharedMutex = ForkSafe<std::shared_mutex>;

// An object made once by get() and never destroyed: threads may still use it while the process ends.
template <class T>
class Once {
 public:
  constexpr Once() = default;
  template <class Make>
  T& get(Make&& make) {
    if (T* made = made_.load(std::memory_order_acquire)) [[likely]]
      return *made;
    return get_slowly(make);
  }

 private:
  template <class Make>
  [[gnu::noinline]] T& get_slowly(Make& make) {
    const fork_gate::Section section;
    const std::lock_guard lock(mutex_);
    if (T* made = made_.load(std::memory_order_relaxed)) return *made;
    T* const made = new T(make());
    made_.store(made, std::memory_order_release);
    return *made;
  }

  std::atomic<T*> made_ = nullptr;
  std::mutex mutex_;
};

// std::call_once that a child of fork never finds half done.
template <class F>
void fork_safe_call_once(std::once_flag& flag, F&& f) {
  const fork_gate::Section section;
  std::call_once(flag, std::forward<F>(f));
}

}  // namespace tilewright
