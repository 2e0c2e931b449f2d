// Allocates stacks and switches to them. Threads keep one for kernels; larger ones are released at once.
#include "core/host/stack.hpp"

#include <sys/mman.h>

#include <cstdint>

#include "core/per_thread.hpp"
#include "tilewright/types.hpp"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#endif
#if !defined(__x86_64__) && !defined(__aarch64__)
#include <ucontext.h>
#endif

namespace tilewright {
namespace {

constexpr std::size_t page = 4096;
// Added to each request: room for the functions that f calls and for signal handlers.
constexpr std::size_t spare_bytes = std::size_t(64) << 10;
constexpr std::size_t kept_bytes = std::size_t(512) << 10;

// Memory below which a page faults; none is touched before it is used.
class Stack {
 public:
  constexpr Stack() = default;
  explicit Stack(std::size_t bytes) : bytes_(bytes) {
    void* const got = mmap(nullptr, bytes + page, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK | MAP_NORESERVE, -1, 0);
    if (got == MAP_FAILED || mprotect(got, page, PROT_NONE) != 0) {
      if (got != MAP_FAILED) munmap(got, bytes + page);
      throw Error(ErrorCode::out_of_memory, "", "no memory for the stack that this problem needs");
    }
    low_ = static_cast<char*>(got) + page;
  }
  ~Stack() {
    if (low_ != nullptr) munmap(low_ - page, bytes_ + page);
  }
  Stack& operator=(Stack&&) = delete;

  // Leaves the memory mapped for good.
  void keep() { low_ = nullptr; }

  char* low() const { return low_; }
  std::size_t bytes() const { return bytes_; }

 private:
  char* low_ = nullptr;
  std::size_t bytes_ = 0;
};

struct Call {
  void (*f)(void*);
  void* argument;
#if defined(__SANITIZE_ADDRESS__)
  const void* callers_low = nullptr;
  std::size_t callers_bytes = 0;
#endif
};

void call(void* given) {
  auto& call = *static_cast<Call*>(given);
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(nullptr, &call.callers_low, &call.callers_bytes);
  call.f(call.argument);
  __sanitizer_start_switch_fiber(nullptr, call.callers_low, call.callers_bytes);
#else
  call.f(call.argument);
#endif
}

#if defined(__x86_64__) || defined(__aarch64__)
// tilewright_on_stack(top, f, argument) calls f(argument) with the stack pointer at top. The frame pointer
// leads back to the caller, for debuggers and profilers too.
extern "C" [[gnu::visibility("hidden")]] void tilewright_on_stack(char* top, void (*f)(void*),
                                                                  void* argument);
#if defined(__x86_64__)
asm(R"(
.pushsection .text
.p2align 4
.globl tilewright_on_stack
.hidden tilewright_on_stack
.type tilewright_on_stack, @function
tilewright_on_stack:
  .cfi_startproc
  endbr64
  push %rbp
  .cfi_def_cfa_offset 16
  .cfi_offset %rbp, -16
  mov %rsp, %rbp
  .cfi_def_cfa_register %rbp
  mov %rdi, %rsp
  mov %rdx, %rdi
  call *%rsi
  leave
  .cfi_def_cfa %rsp, 8
  ret
  .cfi_endproc
.size tilewright_on_stack, . - tilewright_on_stack
.popsection
)");
#else
asm(R"(
.pushsection .text
.p2align 4
.globl tilewright_on_stack
.hidden tilewright_on_stack
.type tilewright_on_stack, @function
tilewright_on_stack:
  .cfi_startproc
  hint 34  // bti c
  stp x29, x30, [sp, -16]!
  .cfi_def_cfa_offset 16
  .cfi_offset 29, -16
  .cfi_offset 30, -8
  mov x29, sp
  .cfi_def_cfa_register 29
  mov sp, x0
  mov x0, x2
  blr x1
  mov sp, x29
  .cfi_def_cfa_register 31
  ldp x29, x30, [sp], 16
  .cfi_restore 29
  .cfi_restore 30
  .cfi_def_cfa_offset 0
  ret
  .cfi_endproc
.size tilewright_on_stack, . - tilewright_on_stack
.popsection
)");
#endif
void go(const Stack& stack, Call& what) { tilewright_on_stack(stack.low() + stack.bytes(), call, &what); }
#else
// Passes a pointer in two halves, since makecontext passes ints.
void call_halves(unsigned high, unsigned low) {
  call(reinterpret_cast<void*>(std::uintptr_t(high) << 32 | low));
}
void go(const Stack& stack, Call& what) {
  ucontext_t here, there;
  getcontext(&there);
  there.uc_stack.ss_sp = stack.low();
  there.uc_stack.ss_size = stack.bytes();
  there.uc_link = &here;
  const auto address = std::uint64_t(reinterpret_cast<std::uintptr_t>(&what));
  makecontext(&there, reinterpret_cast<void (*)()>(call_halves), 2, unsigned(address >> 32),
              unsigned(address));
  swapcontext(&here, &there);
}
#endif

void run_on(const Stack& stack, void (*f)(void*), void* argument) {
  Call what{f, argument};
#if defined(__SANITIZE_ADDRESS__)
  void* fake = nullptr;
  __sanitizer_start_switch_fiber(&fake, stack.low(), stack.bytes());
  go(stack, what);
  __sanitizer_finish_switch_fiber(fake, nullptr, nullptr);
#else
  go(stack, what);
#endif
}

// The calling thread's own stack. The plain data below outlives this object, which ends with the thread.
struct Own {
  Stack stack{kept_bytes};
  Own();
  ~Own();
};
// The library's stack that the thread is running on, if any; suspended fibers may be on it as well.
thread_local constinit const Stack* at_work = nullptr;
thread_local constinit Own* own = nullptr;
thread_local constinit bool own_is_in_use = false, thread_ends = false;
Own::Own() { own = this; }
Own::~Own() {
  if (own_is_in_use) stack.keep();  // a signal handler's exit() or pthread_exit() runs on it
  own = nullptr, thread_ends = true;
}

class AtWork {
 public:
  explicit AtWork(const Stack& stack) : before_(at_work) { at_work = &stack; }
  ~AtWork() { at_work = before_; }
  AtWork& operator=(AtWork&&) = delete;

 private:
  const Stack* before_;
};

// True if the thread runs on one of the library's stacks already and `bytes` are left on it.
bool has_room(std::size_t bytes) {
  if (at_work == nullptr) return false;
  const auto here = static_cast<const char*>(__builtin_frame_address(0));
  return here > at_work->low() && here <= at_work->low() + at_work->bytes() &&
         std::size_t(here - at_work->low()) >= bytes + page;
}

[[gnu::noinline]] void make_own() { PerThread<Own>::own(); }

}  // namespace

void call_with_stack(std::size_t bytes, void (*f)(void*), void* argument) {
  if (has_room(bytes)) return f(argument);
  if (bytes + spare_bytes <= kept_bytes && !own_is_in_use && !thread_ends) {
    if (own == nullptr) make_own();
    const AtWork scope(own->stack);
    own_is_in_use = true;
    run_on(own->stack, f, argument);
    own_is_in_use = false;
    return;
  }
  const Stack stack((bytes + spare_bytes + page - 1) / page * page);
  const AtWork scope(stack);
  run_on(stack, f, argument);
}

}  // namespace tilewright
