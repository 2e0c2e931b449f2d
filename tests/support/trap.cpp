// Signal handlers that jump back into the test, and the assembly that compares registers around a kernel
// call.
#include "support/trap.hpp"

#include <fmt/format.h>
#include <setjmp.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstring>
#include <utility>

namespace tilewright::testing {
namespace {

constexpr std::array trapped_signals{SIGSEGV, SIGBUS, SIGILL, SIGFPE};

// A signal handler can access only globals.
thread_local sigjmp_buf* landing = nullptr;
thread_local Trap caught;
std::atomic<const char*> running_text{nullptr};

void on_signal(int signal_number, siginfo_t* info, void*) {
  if (landing != nullptr) {
    caught = {signal_number, info->si_addr};
    siglongjmp(*landing, 1);
  }
  const char* text = running_text.load();
  const char* head = "fault on another thread while running: ";
  if (text != nullptr && (write(2, head, std::strlen(head)) < 0 || write(2, text, std::strlen(text)) < 0 ||
                          write(2, "\n", 1) < 0))
    _exit(1);
  signal(signal_number, SIG_DFL);
  raise(signal_number);
}

void install_handlers() {
  static const bool installed = [] {
    struct sigaction action = {};
    action.sa_sigaction = on_signal;
    action.sa_flags = SA_SIGINFO | SA_NODEFER;
    for (int signal_number : trapped_signals) sigaction(signal_number, &action, nullptr);
    return true;
  }();
  static_cast<void>(installed);
}

}  // namespace

std::string to_string(const Trap& trap) {
  return fmt::format("{} at address {}", strsignal(trap.signal_number), fmt::ptr(trap.address));
}

std::optional<Trap> run_trapped(const std::string& text, const std::function<void()>& f) {
  install_handlers();
  sigjmp_buf here;
  sigjmp_buf* const outer = landing;
  const char* const outer_text = running_text.exchange(text.c_str());
  const auto leave = [&] {
    landing = outer;
    running_text = outer_text;
  };
  if (sigsetjmp(here, 1) != 0) {
    leave();
    return caught;
  }
  landing = &here;
  try {
    f();
  } catch (...) {
    leave();
    throw;
  }
  leave();
  return std::nullopt;
}

#if defined(__x86_64__)

// int tilewright_call_checked(function, args): bit i of the result tells that the i-th of rbx, rbp, r12..r15,
// the direction flag, the MXCSR control bits has changed.
asm(R"(
  .text
  .type tilewright_call_checked, @function
tilewright_call_checked:
  .cfi_startproc
  pushq %rbx
  .cfi_adjust_cfa_offset 8
  pushq %rbp
  .cfi_adjust_cfa_offset 8
  pushq %r12
  .cfi_adjust_cfa_offset 8
  pushq %r13
  .cfi_adjust_cfa_offset 8
  pushq %r14
  .cfi_adjust_cfa_offset 8
  pushq %r15
  .cfi_adjust_cfa_offset 8
  subq $24, %rsp
  .cfi_adjust_cfa_offset 24
  stmxcsr (%rsp)
  movq %rdi, %rax
  movq %rsi, %rdi
  movabsq $0x1122334455667701, %rbx
  movabsq $0x1122334455667702, %rbp
  movabsq $0x1122334455667703, %r12
  movabsq $0x1122334455667704, %r13
  movabsq $0x1122334455667705, %r14
  movabsq $0x1122334455667706, %r15
  callq *%rax
  xorl %eax, %eax
  movabsq $0x1122334455667701, %rcx
  cmpq %rcx, %rbx
  je 1f
  orl $1, %eax
1: incq %rcx
  cmpq %rcx, %rbp
  je 1f
  orl $2, %eax
1: incq %rcx
  cmpq %rcx, %r12
  je 1f
  orl $4, %eax
1: incq %rcx
  cmpq %rcx, %r13
  je 1f
  orl $8, %eax
1: incq %rcx
  cmpq %rcx, %r14
  je 1f
  orl $16, %eax
1: incq %rcx
  cmpq %rcx, %r15
  je 1f
  orl $32, %eax
1: pushfq
  popq %rcx
  testl $0x400, %ecx
  je 1f
  orl $64, %eax
  cld
1: stmxcsr 4(%rsp)
  movl (%rsp), %ecx
  xorl 4(%rsp), %ecx
  testl $0xffc0, %ecx
  je 1f
  orl $128, %eax
  ldmxcsr (%rsp)
1: addq $24, %rsp
  .cfi_adjust_cfa_offset -24
  popq %r15
  .cfi_adjust_cfa_offset -8
  popq %r14
  .cfi_adjust_cfa_offset -8
  popq %r13
  .cfi_adjust_cfa_offset -8
  popq %r12
  .cfi_adjust_cfa_offset -8
  popq %rbp
  .cfi_adjust_cfa_offset -8
  popq %rbx
  .cfi_adjust_cfa_offset -8
  ret
  .cfi_endproc
  .size tilewright_call_checked, .-tilewright_call_checked
)");
extern "C" int tilewright_call_checked(GemmSmallCpuFunction function, const GemmSmallCpuArguments* args);

std::string call_checked(GemmSmallCpuFunction function, const GemmSmallCpuArguments& args) {
  const int changed = tilewright_call_checked(function, &args);
  std::string text;
  constexpr std::array names{"rbx", "rbp", "r12", "r13", "r14", "r15", "direction flag", "MXCSR"};
  for (std::size_t i = 0; i < names.size(); ++i)
    if ((changed >> i & 1) != 0) text += fmt::format("{}{}", text.empty() ? "" : ", ", names[i]);
  return text;
}

#else

std::string call_checked(GemmSmallCpuFunction function, const GemmSmallCpuArguments& args) {
  function(&args);
  return {};
}

#endif

}  // namespace tilewright::testing
