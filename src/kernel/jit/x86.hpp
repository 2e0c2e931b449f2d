// Generated x86-64 code in memory: a thin base over Xbyak that owns its pages, makes them executable when the
// code is complete, and counts what was emitted per problem. Only this header and the generators include
// Xbyak.
#pragma once

#include <xbyak/xbyak.h>

#include <cstdint>

#include "kernel/gemm_small_cpu/config.hpp"
#include "kernel/jit/counts.hpp"

namespace tilewright {

class JitCode : public Xbyak::CodeGenerator {
 public:
  JitCode() : Xbyak::CodeGenerator(reserved_bytes, Xbyak::DontSetProtectRWE) {}

  // Ends generation: resolves labels, drops write permission, gains execute permission. Throws
  // Error(unsupported) where the operating system forbids generated code.
  void finish();

  KernelCounts& counts() { return counts_; }

  // How often the code being emitted runs per problem; generators raise it inside loops.
  double weight = 1;
  void count_load() { counts_.instructions += weight, counts_.loads += weight; }
  void count_store() { counts_.instructions += weight, counts_.stores += weight; }
  void count_multiply_add(bool reads_memory) {
    counts_.instructions += weight, counts_.multiply_adds += weight;
    if (reads_memory) counts_.loads += weight;
  }
  void count_prefetch() { counts_.instructions += weight, counts_.prefetches += weight; }
  void count_other() { counts_.instructions += weight; }

 private:
  static constexpr std::size_t reserved_bytes = 256 * 1024;
  KernelCounts counts_;
};

// True when this process may run generated code for `isa`: CPU and operating system state (XCR0) both allow
// it.
bool jit_available(Isa isa);

}  // namespace tilewright
