// Finishes generated code (W^X), and tests whether this process may run any.
#include "kernel/jit/x86.hpp"

#include <sys/mman.h>

#include "device/cpu.hpp"

namespace tilewright {

void JitCode::finish() {
  try {
    ready();  // only checks that every label is defined: this buffer does not grow
    setProtectModeRE();
  } catch (const Xbyak::Error& error) {
    if (int(error) != Xbyak::ERR_CANT_PROTECT)
      throw Error(ErrorCode::internal, "config",
                  std::string("the generator emitted an invalid instruction: ") + error.what());
    throw Error(ErrorCode::unsupported, "cpu",
                "the operating system forbids generated code (no executable pages)");
  }
  counts_.code_bytes = static_cast<std::int64_t>(getSize());
}

namespace {

bool executable_pages_allowed() {
  void* page = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return false;
  const bool allowed = mprotect(page, 4096, PROT_READ | PROT_EXEC) == 0;
  munmap(page, 4096);
  return allowed;
}

}  // namespace

bool jit_available(Isa isa) {
  if (isa == Isa::portable) return false;
  const CpuInfo& cpu = cpu_info();
  return (isa == Isa::avx512 ? cpu.avx512 : cpu.avx2_fma) && executable_pages_allowed();
}

}  // namespace tilewright
