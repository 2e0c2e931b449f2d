// Runs code that needs much stack on a stack of the library's own, one per thread. Callers may have little:
// threads with 16 KiB, or fibers, whose stack the system does not know. An overflow would end the process.
#pragma once

#include <cstddef>
#include <optional>
#include <type_traits>
#include <utility>

#include "core/host/host_state.hpp"

namespace tilewright {

// The library takes at most this much of a caller's stack; a small call as a whole stays within 8 KiB.
inline constexpr std::size_t small_stack_bytes = std::size_t(4) << 10;

// Calls f(argument), which must not throw, with at least `bytes` bytes of stack. Throws Error(out_of_memory).
void call_with_stack(std::size_t bytes, void (*f)(void*), void* argument);

// Calls f() likewise; f may throw.
template <class F>
void with_stack(std::size_t bytes, F&& f) {
  struct Work {
    std::remove_reference_t<F>& f;
    FirstException exception{};
  } work{f};
  call_with_stack(
      bytes,
      [](void* given) {
        auto& own = *static_cast<Work*>(given);
        own.exception.guard(own.f);
      },
      &work);
  work.exception.rethrow();
}

// Returns f(), for rare work that calls into other libraries, such as making a plan: with as much stack as a
// thread has by default, errno preserved, and cancellation of the thread disabled.
template <class F>
auto at_ease(F&& f) {
  constexpr std::size_t much = std::size_t(4) << 20;
  const NoCancel uncancelled;
  const KeepErrno before;
  if constexpr (std::is_void_v<decltype(f())>) {
    with_stack(much, f);
  } else {
    std::optional<decltype(f())> result;
    with_stack(much, [&] { result.emplace(f()); });
    return std::move(*result);
  }
}

}  // namespace tilewright
