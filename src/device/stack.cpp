// Asks where the calling thread's stack ends, once per thread.
#include "device/stack.hpp"

#include <pthread.h>

#include <algorithm>
#include <cstdint>

#include "device/team.hpp"
#include "tilewright/types.hpp"

namespace tilewright {
namespace {

constexpr std::size_t spare_bytes = std::size_t(16) << 10;  // of what f calls besides

// 0 where the system does not tell; the main thread's may still grow to its limit.
std::uintptr_t stack_end() {
  thread_local const std::uintptr_t end = [] {
    pthread_attr_t attributes;
    if (pthread_getattr_np(pthread_self(), &attributes) != 0) return std::uintptr_t(0);
    void* lowest = nullptr;
    std::size_t bytes = 0, guard = 0;
    const bool known = pthread_attr_getstack(&attributes, &lowest, &bytes) == 0 &&
                       pthread_attr_getguardsize(&attributes, &guard) == 0;
    pthread_attr_destroy(&attributes);
    return known ? reinterpret_cast<std::uintptr_t>(lowest) + guard : std::uintptr_t(0);
  }();
  return end;
}

struct Work {
  const std::function<void()>& f;
  FirstException exception{};
};

}  // namespace

void with_stack(std::size_t bytes, const std::function<void()>& f) {
  const auto here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
  const std::uintptr_t end = stack_end();
  if (here < end || here - end >= bytes + spare_bytes) return f();
  Work work{f};
  const auto run = [](void* given) -> void* {
    auto& own = *static_cast<Work*>(given);
    own.exception.guard(own.f);
    return nullptr;
  };
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  constexpr std::size_t page = 4096, least = std::size_t(256) << 10;
  pthread_attr_setstacksize(&attributes, (std::max(bytes + 2 * spare_bytes, least) + page - 1) / page * page);
  pthread_t thread{};
  const int failure = pthread_create(&thread, &attributes, run, &work);
  pthread_attr_destroy(&attributes);
  if (failure != 0)
    throw Error(
        ErrorCode::out_of_memory, "",
        "the calling thread has too little stack for this problem, and no other thread can be started");
  pthread_join(thread, nullptr);
  work.exception.rethrow();
}

}  // namespace tilewright
