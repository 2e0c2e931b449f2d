// Room on the stack for code that needs much of it, on threads that have little: programs give their own
// threads as few as 16 KiB, and what runs over the end of a stack ends the process, or worse.
#pragma once

#include <cstddef>
#include <functional>

namespace tilewright {

// More than this is not taken from a caller's stack unasked.
inline constexpr std::size_t usual_stack_bytes = std::size_t(32) << 10;

// f() where at least so many bytes of stack are left: on this thread where it has them, else on another,
// which is waited for. Exceptions of f come out. Throws Error(out_of_memory) where no thread can be had.
void with_stack(std::size_t bytes, const std::function<void()>& f);

}  // namespace tilewright
