// An object per thread, made on first use and destroyed with it, unless it is the main thread. Without memory
// own() throws, whereas the C library ends the process for a thread_local with a destructor.
#pragma once

#include <pthread.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <memory>
#include <new>

namespace tilewright {

// There is one object per thread for each T and Tag.
template <class T, class Tag = T>
class PerThread {
 public:
  // Throws std::bad_alloc and the exceptions of T's constructor.
  static T& own() {
    if (own_ == nullptr) [[unlikely]]
      make();
    return *own_;
  }
  // True if the calling thread's object has been destroyed.
  static bool has_ended() { return has_ended_; }

 private:
  static void make() {
    auto made = std::make_unique<T>();
    if (pthread_setspecific(key(), made.get()) == ENOMEM) throw std::bad_alloc();
    own_ = made.release();
  }
  // If the process has no keys left, the object is never destroyed.
  static pthread_key_t key() {
    static constinit std::atomic<std::int64_t> known{-1};
    std::int64_t key = known.load();
    pthread_key_t made{};
    if (key >= 0 || pthread_key_create(&made, end) != 0) return pthread_key_t(key);
    if (known.compare_exchange_strong(key, std::int64_t(made))) return made;
    pthread_key_delete(made);
    return pthread_key_t(key);
  }
  static void end(void* object) {
    own_ = nullptr;
    has_ended_ = true;
    delete static_cast<T*>(object);
  }

  inline static thread_local constinit T* own_ = nullptr;
  inline static thread_local constinit bool has_ended_ = false;
};

}  // namespace tilewright
