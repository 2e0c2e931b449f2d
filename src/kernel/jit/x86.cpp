// Finishes generated code (W^X), and tests whether this process may run any.
#include "kernel/jit/x86.hpp"

#include <sys/mman.h>

#include <atomic>

#include "device/cpu.hpp"

namespace tilewright {
namespace {

constexpr std::size_t page_bytes = 4096, line_bytes = 64;
std::atomic<std::size_t> next_first = 0;

}  // namespace

JitCode::JitCode() : Xbyak::CodeGenerator(reserved_bytes, Xbyak::DontSetProtectRWE) {
  first_ = next_first.load(std::memory_order_relaxed) % page_bytes;
  setSize(first_);
}

void JitCode::restart() {
  reset();
  setSize(first_);
}

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
  const std::size_t bytes = getSize() - first_;
  next_first.fetch_add((bytes + line_bytes - 1) / line_bytes * line_bytes, std::memory_order_relaxed);
  counts_.code_bytes = static_cast<std::int64_t>(bytes);
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
