// Measures how much of its caller's stack a call uses: the stack is painted before and read after. It runs on
// fibers, whose stacks the system does not know, of 64 KiB; and on threads of 48 KiB.
#include <pthread.h>
#include <sys/mman.h>
#include <ucontext.h>

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "calls.hpp"
#include "ends.hpp"

namespace {

constexpr std::size_t fiber_bytes = 64 << 10, thread_bytes = 48 << 10, most_bytes = 8 << 10;
// Unwinding an exception to the interface uses some of them.
constexpr std::size_t most_refused_bytes = 12 << 10;
constexpr unsigned char paint = 0xa7;

// A stack above pages that must not be touched.
class Fiber {
 public:
  Fiber()
      : memory_(static_cast<unsigned char*>(
            mmap(nullptr, 2 * fiber_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))) {
    mprotect(memory_, fiber_bytes, PROT_NONE);
  }
  ~Fiber() { munmap(memory_, 2 * fiber_bytes); }
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  // Runs f and returns the number of bytes whose paint it overwrote.
  std::size_t run(void (*f)()) {
    unsigned char* const low = memory_ + fiber_bytes;
    std::memset(low, paint, fiber_bytes);
    getcontext(&there_);
    there_.uc_stack.ss_sp = low;
    there_.uc_stack.ss_size = fiber_bytes;
    there_.uc_link = &here_;
    makecontext(&there_, f, 0);
    swapcontext(&here_, &there_);
    return std::size_t(low + fiber_bytes -
                       std::find_if(low, low + fiber_bytes, [](unsigned char x) { return x != paint; }));
  }

 private:
  unsigned char* memory_;
  ucontext_t here_{}, there_{};
};

const NamedCall* current = nullptr;
bool was_right = false;
void nothing() {}
void run_current() { was_right = current->run(); }

bool within_limits(Fiber& fiber, const NamedCall& call, const char* which, std::size_t most) {
  current = &call;
  const std::size_t bytes = fiber.run(run_current) - fiber.run(nothing);
  if (was_right && bytes <= most) return true;
  std::printf("%s, %s call: %zu bytes%s\n", call.name.c_str(), which, bytes,
              was_right ? "" : ", and a wrong result");
  return false;
}

bool on_small_threads(const std::vector<NamedCall>& calls) {
  struct Work {
    const std::vector<NamedCall>& calls;
    bool right = true;
  } work{calls};
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, thread_bytes);
  pthread_t thread{};
  const auto run = [](void* given) -> void* {
    auto& own = *static_cast<Work*>(given);
    for (const NamedCall& call : own.calls) own.right = call.run() && own.right;
    return nullptr;
  };
  if (pthread_create(&thread, &attributes, run, &work) != 0) return false;
  pthread_join(thread, nullptr);
  return work.right;
}

}  // namespace

int stacks() {
  const std::vector<NamedCall> calls = all_calls();
  Fiber fiber;
  bool right = true;
  for (const NamedCall& call : calls) {
    const std::size_t most = call.name.ends_with("refused") ? most_refused_bytes : most_bytes;
    right = within_limits(fiber, call, "first", most) && right;
    right = within_limits(fiber, call, "second", most) && right;
  }
  right = on_small_threads(calls) && right;
  return right ? 0 : 1;
}
