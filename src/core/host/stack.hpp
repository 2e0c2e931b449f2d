// Room on the stack for code that needs much of it. Callers may have little: threads are given as few as 16
// KiB, fibers live on memory that the system does not know as a stack, and what runs over an end ends the
// process, or worse. So what needs more than a little runs on memory of the library's own, one piece for each
// thread.
#pragma once

#include <cstddef>
#include <optional>
#include <type_traits>
#include <utility>

#include "core/host/first_exception.hpp"
#include "core/host/host_state.hpp"

namespace tilewright {

// More than this is not taken from a caller's stack: a small call, with all that is around it, has 8 KiB.
inline constexpr std::size_t usual_stack_bytes = std::size_t(4) << 10;

// f(argument), which must not throw, where at least so many bytes of stack are left. Throws
// Error(out_of_memory) where there is no memory for them.
void call_with_stack(std::size_t bytes, void (*f)(void*), void* argument);

// f() likewise, which may throw.
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

// f() for what is done once in a while and calls into other libraries, such as making a plan: with as much
// stack as a thread has by default, with the host's errno kept, and on a thread that is not cancelled
// meanwhile. Returns what f returns.
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
