// Generated x86-64 code in memory: a base over Xbyak that owns its pages, makes complete code executable, and
// counts its instructions per problem. Only this header and the generators include Xbyak.
//
// Each kernel has pages of its own, but begins in them where the one made before it ended: kernels that all
// begin at the start of a page share the same few sets of the first-level cache, which holds eight of them.
#pragma once

#include <xbyak/xbyak.h>

#include "kernel/gemm_small_cpu/config.hpp"
#include "kernel/jit/counts.hpp"

namespace tilewright {

class JitCode : public Xbyak::CodeGenerator {
 public:
  JitCode();

  // Returns the address of the code.
  template <class Function>
  Function entry() const {
    return reinterpret_cast<Function>(getCode() + first_);
  }

  // Ends generation: resolves labels and makes pages executable, not writable. Throws Error(unsupported) if
  // the operating system forbids generated code.
  void finish();

  // Forgets all code, to emit it anew.
  void restart();

  KernelCounts& counts() { return counts_; }

  // Executions per problem of the code being emitted; generators raise it inside loops.
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
  using Xbyak::CodeGenerator::reset;  // restart() keeps the place

  static constexpr std::size_t reserved_bytes = 256 * 1024;
  KernelCounts counts_;
  std::size_t first_ = 0;  // byte of the code
};

// True if this process may run generated code for `isa` (CPU and XCR0 of the operating system).
bool jit_available(Isa isa);

}  // namespace tilewright
