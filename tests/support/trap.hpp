// Runs code that may fault: a memory or instruction fault becomes a value that a test can report with the
// problem and config. Also checks that a kernel function obeys the System V calling convention.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "kernel/gemm_small_cpu/kernel.hpp"

namespace tilewright::testing {

struct Trap {
  int signal_number = 0;
  const void* address = nullptr;
};
std::string to_string(const Trap& trap);

// Runs `f` on this thread. A fault on this thread ends `f` and is returned: its stack is dropped without
// destructors, so its resources leak. A fault on another thread meanwhile prints `text` and ends the process.
std::optional<Trap> run_trapped(const std::string& text, const std::function<void()>& f);

// Calls the kernel and returns the names of the state that it should have preserved and did not: callee-saved
// registers, the direction flag, the control bits of MXCSR. Returns "" if all are preserved (and always on
// CPUs other than x86-64).
std::string call_checked(GemmSmallCpuFunction function, const GemmSmallCpuArguments& args);

}  // namespace tilewright::testing
